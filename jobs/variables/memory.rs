//! The memory of a process that waits, by `/proc`.

use scr_engine::{Error, Result};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A part of a process's addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Its first address.
    pub begin: u64,
    /// The address after its last one.
    pub end: u64,
    /// It can be read and written.
    pub writable: bool,
    /// Offset in the file.
    pub offset: u64,
    /// The mapped file; a name in brackets for some other memory; "" for memory that has no name.
    pub file: String,
}

/// What the values of variables are read from.
pub trait Memory {
    /// Fills the buffer with the bytes from `address` on. False if they cannot be read.
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool;

    /// The mapping that has `address`.
    fn mapping(&self, address: u64) -> Option<&Mapping>;

    /// A number of `size` bytes at `address`, in the order of this machine, whose processes these are.
    fn number(&self, address: u64, size: usize) -> Option<u64> {
        let mut bytes = [0; 8];
        let part = bytes.get_mut(..size)?;
        self.read(address, part).then(|| u64::from_le_bytes(bytes))
    }

    /// True for an address of data that can be written.
    fn is_data(&self, address: u64) -> bool {
        self.mapping(address).is_some_and(|found| found.writable)
    }
}

/// A live process.
pub struct Process {
    memory: File,
    path: PathBuf,
    /// Its parts, in order.
    pub mappings: Vec<Mapping>,
}

impl Process {
    /// Opens the memory of a process.
    ///
    /// # Errors
    /// The process is gone, or the system does not allow that its memory is read.
    pub fn open(pid: u32) -> Result<Self> {
        let proc = PathBuf::from(format!("/proc/{pid}"));
        let path = proc.join("maps");
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|error| Error::io("read", &path, error))?;
        let path = proc.join("mem");
        let memory = File::options().read(true).write(true).open(&path);
        let memory = memory.map_err(|error| Error::io("open", &path, error))?;
        let mappings = text.lines().filter_map(mapping).collect();
        let process = Process {
            memory,
            path,
            mappings,
        };
        process.check()?;
        Ok(process)
    }

    /// The file can be opened where each read of it fails.
    fn check(&self) -> Result<()> {
        let readable = self.mappings.iter().find(|mapping| mapping.writable);
        let Some(first) = readable else {
            return Ok(());
        };
        let read = self.memory.read_exact_at(&mut [0; 8], first.begin);
        read.map_err(|error| Error::io("read", &self.path, error))
    }

    /// Writes bytes. False if that is not possible.
    pub fn write(&self, address: u64, bytes: &[u8]) -> bool {
        self.memory.write_all_at(bytes, address).is_ok()
    }
}

impl Memory for Process {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        self.memory.read_exact_at(buffer, address).is_ok()
    }

    fn mapping(&self, address: u64) -> Option<&Mapping> {
        let after = (self.mappings).partition_point(|mapping| mapping.begin <= address);
        let found = self.mappings.get(after.checked_sub(1)?)?;
        (address < found.end).then_some(found)
    }
}

/// Reads a line such as `55d0c000-55d0d000 rw-p 00003000 08:01 131 /usr/bin/app`.
fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (begin, end) = words.next()?.split_once('-')?;
    let rights = words.next()?;
    let offset = words.next()?;
    let file = words.nth(2).unwrap_or_default().trim_start();
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some(Mapping {
        begin: number(begin)?,
        end: number(end)?,
        writable: rights.starts_with("rw"),
        offset: number(offset)?,
        file: file.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps_are_read() {
        let line = "55d0c000-55d0d000 rw-p 00003000 08:01 131                        /my app";
        let found = mapping(line).unwrap();
        assert_eq!((found.begin, found.offset), (0x55d0_c000, 0x3000));
        assert!(found.writable);
        assert_eq!(found.file, "/my app");
        let bare = mapping("7f00-7f10 r--p 00000000 00:00 0").unwrap();
        assert_eq!(bare.file, "");
        assert!(!bare.writable);
        assert_eq!(mapping("no line"), None);
    }

    #[test]
    fn the_memory_of_a_process_is_read_and_written() {
        let mut value = std::hint::black_box(Box::new(0x1234_5678_u64));
        let address = (&raw mut *value).addr() as u64;
        let own = Process::open(std::process::id()).unwrap();
        assert_eq!(own.number(address, 8), Some(0x1234_5678));
        assert!(own.is_data(address));
        assert!(!own.read(8, &mut [0; 8]));
        assert!(own.write(address, &7u64.to_le_bytes()));
        assert_eq!(*std::hint::black_box(value), 7);
    }
}
