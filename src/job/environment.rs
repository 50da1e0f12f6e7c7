//! The environment of a process, as a value that tests can make.

use crate::system::process;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Environment, user and host of a process. A value, so that ranks which are threads of one process
/// can differ, as ranks on several nodes do.
///
/// Values that are not UTF-8 are never altered: [`Environment::get`] does not return them, and
/// [`Environment::check_text`] makes them an error where another directory could be used instead.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    vars: BTreeMap<OsString, OsString>,
    /// Working directory; empty if it is not known.
    pub cwd: PathBuf,
    /// Host name as uname(2) gives it.
    pub host: String,
    /// Effective user.
    pub uid: u32,
    /// Name of `uid` in the password database, if it has one.
    pub user_from_db: Option<String>,
    /// The file that has this code in it: a command, libscr.so, or a program with the static library.
    /// The name is not known in all processes.
    pub code_file: Option<PathBuf>,
}

impl Environment {
    /// The environment of this process, now.
    pub fn of_process() -> Self {
        let uid = process::user();
        Environment {
            vars: std::env::vars_os().collect(),
            cwd: std::env::current_dir().unwrap_or_default(),
            host: process::host(),
            uid,
            user_from_db: user_of(uid),
            code_file: code_file(),
        }
    }

    /// No variables, no names, user 0.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Value of a variable; `Some("")` if it is set but empty, `None` if it is not UTF-8.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.get_os(name)?.to_str()
    }

    /// Value of a variable, byte for byte.
    pub fn get_os(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// All variables that are UTF-8, with their values, sorted by name.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.vars.iter();
        all.filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)))
    }

    /// True for a variable that is set to something that is not UTF-8.
    pub fn is_unreadable(&self, name: &str) -> bool {
        self.get_os(name)
            .is_some_and(|value| value.to_str().is_none())
    }

    /// Checks that each of these variables is UTF-8 or not set.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check_text<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<()> {
        match names.into_iter().find(|name| self.is_unreadable(name)) {
            Some(name) => Err(Error::config(
                "environment",
                format!("{name} is not UTF-8 text; correct or remove it"),
            )),
            None => Ok(()),
        }
    }

    /// The environment with a variable set.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.vars.insert(name.into(), value.into());
        self
    }

    /// The environment without the variables for which `dropped` is true.
    #[must_use]
    pub fn without(mut self, dropped: impl Fn(&str) -> bool) -> Self {
        self.vars
            .retain(|name, _| !name.to_str().is_some_and(&dropped));
        self
    }

    /// The environment with another host name.
    #[must_use]
    pub fn with_host(mut self, host: &str) -> Self {
        self.host = host.to_string();
        self
    }

    /// The environment with another working directory.
    #[must_use]
    pub fn with_cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = cwd.into();
        self
    }

    /// The environment of another user, with the name that the password database has, if any.
    #[must_use]
    pub fn with_user(mut self, uid: u32, name: Option<&str>) -> Self {
        self.uid = uid;
        self.user_from_db = name.map(str::to_string);
        self
    }
}

/// An environment with these variables and nothing else.
impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let vars = pairs
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        Environment {
            vars: vars.collect(),
            ..Self::default()
        }
    }
}

/// Asks the loader, by dladdr(3), which object has this function, and resolves symbolic links.
fn code_file() -> Option<PathBuf> {
    let mut object = MaybeUninit::<libc::Dl_info>::zeroed();
    let here = code_file as fn() -> Option<PathBuf>;
    // SAFETY: any address may be asked for, and `object` is live memory of the type that is filled in.
    let found = unsafe { libc::dladdr(here as *const libc::c_void, object.as_mut_ptr()) };
    // SAFETY: all zeros are a valid Dl_info, and the call has filled it in, or not touched it.
    let name = unsafe { object.assume_init() }.dli_fname;
    if found == 0 || name.is_null() {
        return std::env::current_exe().ok();
    }
    // SAFETY: the loader keeps the name as a C string while the object is loaded, and this code is in it.
    let name = unsafe { CStr::from_ptr(name) };
    let path = Path::new(OsStr::from_bytes(name.to_bytes()));
    let is_library = path
        .file_name()
        .is_some_and(|name| name.as_bytes().starts_with(b"libscr.so"));
    // For the program itself the loader knows only how it was called.
    if is_library {
        path.canonicalize().ok()
    } else {
        std::env::current_exe().ok()
    }
}

/// Largest entry of the password database that is read, bytes.
const ENTRY_LIMIT: usize = 1 << 20;

/// Asks the password database, by getpwuid_r(3), which also asks LDAP and similar services.
fn user_of(uid: u32) -> Option<String> {
    let mut buffer: Vec<libc::c_char> = vec![0; 4096];
    loop {
        let mut entry = MaybeUninit::<libc::passwd>::zeroed();
        let mut found = std::ptr::null_mut();
        // SAFETY: all pointers are to live memory of the sizes given; `entry` and the buffer
        // that its strings lie in outlive `found`.
        let code = unsafe {
            let (start, length) = (buffer.as_mut_ptr(), buffer.len());
            libc::getpwuid_r(uid, entry.as_mut_ptr(), start, length, &mut found)
        };
        match code {
            libc::ERANGE if buffer.len() < ENTRY_LIMIT => buffer.resize(buffer.len() * 4, 0),
            libc::EINTR => {}
            _ if code != 0 || found.is_null() => return None,
            _ => {
                // SAFETY: `found` points to `entry`, filled in by the call.
                let name = unsafe { (*found).pw_name };
                if name.is_null() {
                    return None;
                }
                // SAFETY: a C string in `buffer`.
                let name = unsafe { CStr::from_ptr(name) };
                return Some(name.to_string_lossy().into_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn told_by(program: &str, argument: &str) -> String {
        let output = Command::new(program).arg(argument).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_string()
    }

    #[test]
    fn this_process_is_as_the_system_tools_say() {
        let environment = Environment::of_process();
        assert_eq!(environment.code_file, std::env::current_exe().ok());
        assert_eq!(environment.host, told_by("uname", "-n"));
        assert_eq!(environment.uid.to_string(), told_by("id", "-u"));
        // Without an entry in the database, id prints the number or nothing.
        let name = Some(told_by("id", "-un"));
        let name = name.filter(|name| !name.is_empty() && *name != environment.uid.to_string());
        assert_eq!(environment.user_from_db, name);
        assert_eq!(
            environment.get("PATH").map(str::to_string),
            std::env::var("PATH").ok()
        );
        assert_eq!(environment.cwd, std::env::current_dir().unwrap());
    }

    #[test]
    fn a_user_without_an_entry_has_no_name() {
        assert_eq!(user_of(u32::MAX - 7), None);
    }
}
