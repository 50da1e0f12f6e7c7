//! The Fortran program in `survive.f90`: its `main` is that of the executable, so that Cargo builds and
//! tests it like any other program.

#![no_main]

use scr as _; // links the library
