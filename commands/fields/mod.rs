//! The work of commands with the fields of a dataset.

pub(super) mod bags;
pub(super) mod compare;
pub(super) mod list;
pub(super) mod npy;
pub(super) mod value;

use scr_jobs::saved_fields::Array;

/// `float64[8, 5]`, in the order of the program.
pub(super) fn shape(array: &Array) -> String {
    let numbers: Vec<String> = array.shape().iter().map(u64::to_string).collect();
    if numbers.is_empty() {
        return array.kind.to_string();
    }
    format!("{}[{}]", array.kind, numbers.join(", "))
}
