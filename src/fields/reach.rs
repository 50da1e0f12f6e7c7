//! How the memory of a field is reached: by the processor, by the driver of a device, or by a function of the program.

use super::apart::of_field;
use super::entry::wrong;
use super::finding::Found;
use super::list::{ByProgram, List};
use crate::device::{Place, Remote};
use crate::events::Severity;
use crate::{Error, Result};
use std::ops::Range;

/// What a driver's answer is compared with.
const NO_DRIVER: &str =
    "no driver that the program has loaded knows its memory as that of a device";

impl List<'_> {
    /// Names the stream of a device (a `cudaStream_t` or `hipStream_t`) that is waited for before the memory of the
    /// following fields is copied. `None` waits for all work in the context of the memory, as at the beginning.
    pub fn set_stream(&mut self, stream: Option<usize>) {
        self.devices.set_stream(stream);
    }

    /// The memory of the next field is copied by the program.
    pub fn set_copy(&mut self, copy: ByProgram) {
        self.copy = Some(copy);
    }

    /// Finds out who copies the memory of the field that is listed next; `None` if the processor reads it. `address` is
    /// that of its first element, and `all` are those from its lowest byte on. The [options](List::next) of the field stay. Local.
    ///
    /// # Errors
    /// An option contradicts the driver, or the driver has failed, or nobody knows the memory. As with an error of
    /// [`List::field`], every later call fails.
    pub fn reach(
        &mut self,
        name: &str,
        address: usize,
        all: Range<usize>,
    ) -> Result<Option<Box<dyn Remote>>> {
        self.unless_failed(|list| {
            let name = list.full(name);
            list.try_reach(&name, address, all)
        })
    }

    /// Checks that the processor reads the memory at an address, for `call`. `subject` is what is there, in words. Local.
    ///
    /// # Errors
    /// It is memory of a device, or nobody knows it.
    pub fn check_host(&mut self, address: usize, call: &'static str, subject: &str) -> Result<()> {
        self.unless_failed(|list| match list.devices.locate(address) {
            Ok(Place::Host) => Ok(()),
            Ok(Place::Device(located)) if located.processor_reaches() => {
                Ok(located.wait().map_err(|error| error.with_note(subject))?)
            }
            Ok(Place::Device(located)) => {
                let what = format!(
                    "{subject}: its memory is that of {}; only fields can be there, so give a copy in memory of the processor",
                    located.name()
                );
                Err(Error::usage(call, what).into())
            }
            Err(error) => Err(error.with_note(subject).into()),
        })
    }

    /// Refuses what is said of the place of a field's memory before something that is no field.
    pub(super) fn refuse_place(&self, name: &str) -> Result<()> {
        let options = self.options();
        if options.on_device || options.on_host || self.copy.is_some() {
            let what = "SCR_ON_DEVICE, SCR_ON_HOST and SCR_Copy are for fields; counts, bags and index lists are in memory \
                        of the processor";
            return Err(wrong(name, what));
        }
        Ok(())
    }

    /// A field whose data are on a device, too, was listed with its copy in memory of the processor.
    fn check_stale(&mut self, name: &str, all: Range<usize>) -> Found<()> {
        let Some(language) = self.devices.copy_of_host(all.start, all.len()) else {
            return Ok(());
        };
        let what = format!(
            "its memory is that of the processor, and {language} has a copy of it on a device, which may be newer; give the \
             device's pointer (host_data use_device, target data use_device_addr), or bring the copies together first, and \
             after a restart, and list it with SCR_ON_HOST"
        );
        if self.session.is_strict_with_devices() {
            return Err(wrong(name, format!("{what} (SCR_DEVICE_STRICT=1)")).into());
        }
        if self.session.fields_mut().tells_stale(name) {
            let text = format!("field \"{name}\": {what}; SCR_DEVICE_STRICT=1 makes this an error");
            self.session.tell_once(Severity::Warning, text);
        }
        Ok(())
    }

    fn try_reach(
        &mut self,
        name: &str,
        address: usize,
        all: Range<usize>,
    ) -> Found<Option<Box<dyn Remote>>> {
        let options = self.options();
        let fail = |what: String| Err(wrong(name, what).into());
        if options.on_device && options.on_host {
            return fail("SCR_ON_DEVICE and SCR_ON_HOST exclude each other".to_string());
        }
        if let Some(copy) = self.copy.take() {
            if options.on_host {
                return fail(
                    "SCR_ON_HOST says that the processor reads it, and SCR_Copy that it does not"
                        .to_string(),
                );
            }
            return Ok(Some(copy(name, address)));
        }
        match self.devices.locate(address) {
            Ok(Place::Host) if options.on_device => fail(format!(
                "SCR_ON_DEVICE was given, and {NO_DRIVER}; give the device's pointer, as within \
                 host_data use_device or target data use_device_addr, or leave SCR_ON_DEVICE out"
            )),
            Ok(Place::Host) => {
                if !options.on_host {
                    self.check_stale(name, all)?;
                }
                Ok(None)
            }
            Ok(Place::Device(located)) if options.on_host => {
                if located.processor_reaches() {
                    let waited = located.wait();
                    return Ok(waited
                        .map(|()| None)
                        .map_err(|error| of_field(error, name))?);
                }
                fail(format!(
                    "SCR_ON_HOST was given, and its memory is that of {}, which the processor does not reach; leave \
                     SCR_ON_HOST out",
                    located.name()
                ))
            }
            Ok(Place::Device(located)) => Ok(Some(Box::new(located))),
            Err(error) => Err(of_field(error, name).into()),
        }
    }
}
