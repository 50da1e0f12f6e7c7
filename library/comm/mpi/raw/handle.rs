//! Handles of MPI, whose form is known when an MPI is found.

use std::ffi::c_int;

/// A handle of any MPI: an integer in MPICH's family, a pointer in the others. Bytes that an integer does not fill are
/// zero, so that equal handles are equal bytes. C passes it to us in one register, whichever it is.
#[derive(Clone, Copy)]
#[repr(C)]
pub union Handle {
    integer: c_int,
    pointer: usize,
}

/// A form of handles, as the functions of an MPI take them.
pub(super) trait Form: Copy {
    /// The handle in this form. A pointer to a [`Handle`] is also one to its form.
    fn of(handle: Handle) -> Self;

    /// The handle that has this form.
    fn handle(self) -> Handle;
}

impl Form for c_int {
    fn of(handle: Handle) -> c_int {
        // SAFETY: all bytes of a handle are initialised, and any are an integer.
        unsafe { handle.integer }
    }

    fn handle(self) -> Handle {
        let mut handle = Handle { pointer: 0 };
        handle.integer = self;
        handle
    }
}

impl Form for usize {
    fn of(handle: Handle) -> usize {
        // SAFETY: as for an integer.
        unsafe { handle.pointer }
    }

    fn handle(self) -> Handle {
        Handle { pointer: self }
    }
}

impl PartialEq for Handle {
    fn eq(&self, other: &Handle) -> bool {
        usize::of(*self) == usize::of(*other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_leaves_no_trace_of_what_was_beside_it() {
        // As a register has it after C has put a negative int there, or one beside old bits.
        for integer in [0x4400_0000, -1] {
            let mut register = Handle {
                pointer: usize::MAX,
            };
            register.integer = integer;
            assert!(c_int::of(register).handle() == integer.handle());
            assert_eq!(c_int::of(integer.handle()), integer);
        }
        assert!(0x101_usize.handle() != 0x102_usize.handle());
    }
}
