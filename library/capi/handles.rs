//! The handles of the lists of fields, which a program's routines get. A handle is a number and no address: one that is
//! used after its routine has returned is not found, and nothing is read through it.

use super::table::refuse;
use crate::fields::List;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

static HANDLES: Mutex<Handles> = Mutex::new(Handles {
    last: 0,
    live: BTreeMap::new(),
});

struct Handles {
    /// The highest number that was given. No handle is given again.
    last: usize,
    live: BTreeMap<usize, Arc<Mutex<Place>>>,
}

/// The place of a handle's list; `None` when its routine has returned.
struct Place(Option<*mut c_void>);

// SAFETY: the pointer is used by one thread at a time, which holds the lock, and only while `Handle` lives, for which
// the list is borrowed.
unsafe impl Send for Place {}

/// The handle of a list, which lives as long as the routine runs.
pub(super) struct Handle<'a, 'b> {
    number: usize,
    place: Arc<Mutex<Place>>,
    /// Nobody else reaches the list meanwhile.
    list: PhantomData<&'a mut List<'b>>,
}

impl<'a, 'b> Handle<'a, 'b> {
    pub(super) fn new(list: &'a mut List<'b>) -> Self {
        let place = Place(Some(ptr::from_mut(list).cast()));
        let place = Arc::new(Mutex::new(place));
        let mut handles = HANDLES.lock().unwrap_or_else(PoisonError::into_inner);
        handles.last += 1;
        let number = handles.last;
        handles.live.insert(number, place.clone());
        Handle {
            number,
            place,
            list: PhantomData,
        }
    }

    /// The handle that the routine gets, as an address.
    pub(super) fn number(&self) -> usize {
        self.number
    }
}

impl Drop for Handle<'_, '_> {
    fn drop(&mut self) {
        let mut handles = HANDLES.lock().unwrap_or_else(PoisonError::into_inner);
        handles.live.remove(&self.number);
        drop(handles);
        // Waits for a call of another thread, which the routine did not wait for.
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        place.0 = None;
    }
}

/// Runs `work` on the list of a handle.
///
/// # Errors
/// The errors of `work`; and the list is gone, as its routine has returned, or another thread is in a call with it.
pub(super) fn with<T>(number: usize, work: impl FnOnce(&mut List<'_>) -> Result<T>) -> Result<T> {
    let wrong = |what: &str| Err(refuse(Error::usage("SCR_State", what)));
    let handles = HANDLES.lock().unwrap_or_else(PoisonError::into_inner);
    let place = handles.live.get(&number).cloned();
    drop(handles);
    let Some(place) = place else {
        return wrong(
            "this is not the state of a routine that runs now; use it inside of the routine that got it, and not after \
             that has returned",
        );
    };
    let place = match place.try_lock() {
        Ok(place) => place,
        Err(TryLockError::WouldBlock) => {
            return wrong(
                "another thread is in a call with this state; let one thread list the fields",
            );
        }
        Err(TryLockError::Poisoned(_)) => {
            return wrong("an earlier call has left this state unusable");
        }
    };
    let Place(Some(list)) = *place else {
        return wrong("the routine that got this state has returned");
    };
    // SAFETY: the list is borrowed by the `Handle` of this place, which waits in its drop until the lock is free. Nobody
    // else reaches the list while it is held.
    let list = unsafe { &mut *list.cast::<List<'_>>() };
    work(list)
}
