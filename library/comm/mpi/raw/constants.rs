//! The constants of each family of MPIs.

use super::Library;
use super::handle::Handle;
use crate::Result;
use std::ffi::c_int;

/// MPIs with the same handles, constants and structures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// MPICH from 3.1 on and its derivatives, as Intel MPI, MVAPICH, Cray MPICH and ParaStation MPI: handles are
    /// integers.
    Mpich,
    /// Open MPI, and Spectrum MPI: handles are addresses of variables.
    OpenMpi,
    /// The ABI of the MPI standard, version 5: handles are pointers with fixed values.
    Standard,
}

macro_rules! handles {
    ($($name:ident: $mpich:literal, $variable:literal, $standard:literal;)*) => {
        /// Handles that MPI has from the beginning.
        pub(super) struct Handles {
            $(pub $name: Handle,)*
        }

        impl Handles {
            /// # Errors
            /// The library lacks one.
            pub fn of(family: Family, library: &Library) -> Result<Handles> {
                Ok(Handles {
                    $($name: library.handle(family, (stringify!($name), $variable), ($mpich, $standard))?,)*
                })
            }
        }
    };
}

handles! {
    // in           MPICH         Open MPI                    the standard
    comm_null:      0x0400_0000,  "ompi_mpi_comm_null",       0x100;
    comm_world:     0x4400_0000,  "ompi_mpi_comm_world",      0x101;
    comm_self:      0x4400_0001,  "ompi_mpi_comm_self",       0x102;
    group_null:     0x0800_0000,  "ompi_mpi_group_null",      0x108;
    message_null:   0x2c00_0000,  "ompi_message_null",        0x128;
    errors_return:  0x5400_0001,  "ompi_mpi_errors_return",   0x143;
    request_null:   0x2c00_0000,  "ompi_request_null",        0x180;
    datatype_null:  0x0c00_0000,  "ompi_mpi_datatype_null",   0x200;
    uint8:          0x4c00_013b,  "ompi_mpi_uint8_t",         0x241;
    int64:          0x4c00_083a,  "ompi_mpi_int64_t",         0x258;
    op_max:         0x5800_0001,  "ompi_mpi_op_max",          0x023;
}

/// Numbers that MPIs choose.
pub(super) struct Numbers {
    pub any_source: c_int,
    pub thread_serialized: c_int,
    /// Which `int` of a status is the sender.
    pub source_in_status: usize,
}

#[cfg(not(feature = "mpi"))]
impl Numbers {
    pub fn of(family: Family) -> Numbers {
        let (any_source, thread_serialized, source_in_status) = match family {
            Family::Mpich => (-2, 2, 2),
            Family::OpenMpi => (-1, 2, 0),
            Family::Standard => (-1, 2048, 0),
        };
        Numbers {
            any_source,
            thread_serialized,
            source_in_status,
        }
    }
}
