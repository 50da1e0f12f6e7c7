//! The machine of a process: where its process id means that process.

use std::fmt::{self, Display};
use std::fs;

/// A machine, or a container with process ids of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The host name.
    pub host: String,
    /// Differs between machines, and after each start of one, and between containers with process ids of their own.
    numbers: String,
}

impl Machine {
    /// That of this process.
    pub fn here() -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let ids = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let ids = ids.to_string_lossy();
        let part =
            |text: &str| -> String { text.chars().filter(char::is_ascii_hexdigit).collect() };
        // `pid:[4026531836]`
        let ids = ids.rsplit(':').next().unwrap_or_default();
        Machine {
            host: crate::system::process::host(),
            numbers: format!("{}:{}", part(&boot), part(ids)),
        }
    }

    /// Reads what [`Machine`] is as a text.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, numbers) = text.trim_end().rsplit_once(' ')?;
        Some(Machine {
            host: host.to_string(),
            numbers: numbers.to_string(),
        })
    }

    /// True if a process id there is the same process here.
    pub fn has_the_processes_of(&self, other: &Machine) -> bool {
        self.numbers == other.numbers
    }

    /// Where that machine is, seen from this one.
    pub fn in_words(&self, other: &Machine) -> String {
        if self.host == other.host {
            "in a container with process ids of its own".into()
        } else {
            format!("on {}", other.host)
        }
    }
}

impl Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.host, self.numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::Machine;

    #[test]
    fn a_machine_is_known_by_its_numbers() {
        let here = Machine::here();
        assert_eq!(Machine::parse(&here.to_string()), Some(here.clone()));
        assert!(here.has_the_processes_of(&Machine::here()));
        let [one, two, three] =
            ["a 1:2", "a 1:3", "b 4:2"].map(|text| Machine::parse(text).unwrap());
        assert!(!one.has_the_processes_of(&two) && !one.has_the_processes_of(&three));
        assert_eq!(one.in_words(&three), "on b");
        assert!(one.in_words(&two).contains("container"));
        assert_eq!(Machine::parse("nothing"), None);
    }
}
