//! The files of a dataset and their bytes. Both follow from the name of the dataset and from which of the
//! datasets of that name it is.

use scr::system::simulated::Random;

/// Which dataset of the job it is. Two of one name have different ones.
pub type Key = u64;

fn number_of(name: &str) -> u64 {
    u64::from(crc32fast::hash(name.as_bytes()))
}

/// The names of the files that a rank writes: one for most; and with `fields` two, of which the library
/// writes the first.
pub fn files_of(fields: bool, name: &str, rank: usize) -> Vec<String> {
    if fields {
        return vec![fields_of(name, rank), mesh_of(name, rank)];
    }
    let mut random = Random::new(number_of(name));
    let (without, two) = (random.below(64) as usize, random.once_in(6));
    let mut files = Vec::new();
    if rank != without || rank == 0 {
        files.push(format!("{name}/rank_{rank}.dat"));
    }
    if two && rank.is_multiple_of(2) {
        files.push(format!("{name}/more/rank_{rank}.dat"));
    }
    files
}

/// A rank's file of fields, and that in which it has a file of its own beside them.
pub fn fields_of(name: &str, rank: usize) -> String {
    format!("{name}/rank_{rank}.fields")
}

pub fn mesh_of(name: &str, rank: usize) -> String {
    format!("{name}/rank_{rank}.mesh")
}

/// What stands for the field that all ranks have parts of.
pub fn whole_of(name: &str) -> String {
    format!("{name}/whole")
}

/// The bytes of one of a rank's files, or of its own field, or of the whole of a field: they differ between datasets, ranks and files.
pub fn content(key: Key, file: &str) -> Vec<u8> {
    let mut random = Random::new(key << 32 ^ number_of(file));
    let size = random.below(3000) as usize;
    let mut bytes: Vec<u8> = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        bytes.extend(random.number().to_le_bytes());
    }
    bytes.truncate(size);
    bytes
}
