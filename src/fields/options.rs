//! What the program says of the field that it lists next.

/// Options of the next field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// If the checkpoint has no such field, the memory stays as it is.
    pub keep_if_missing: bool,
    /// Another kind is converted if nothing can be lost.
    pub convert: bool,
    /// Of an index list: when the state is written, several ranks may list an index, if their copies of its elements
    /// are equal.
    pub shared: bool,
    /// The memory is that of a device: it is an error if no driver knows it as such.
    pub on_device: bool,
    /// The processor reads the memory: it is an error if a driver says that it cannot.
    pub on_host: bool,
    /// The part of this rank of the run that wrote the checkpoint.
    pub from: Option<u64>,
}
