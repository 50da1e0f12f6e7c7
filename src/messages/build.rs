//! Messages of the build.

use super::{Code, Explanation, Section, explained};

explained! {
    BUILD = "It does not build";
    NO_CARGO = 502 {
        title: "Rust is missing or too old",
        text: "cargo was not found.",
        cause: "The library is written in Rust.",
        remedy: "Install it from <https://rustup.rs>, without root; or name the cargo of another place in \
         `-DSCR_CARGO_EXECUTABLE=`.",
    }
    NO_FORTRAN_COMPILER = 503 {
        title: "There is no Fortran compiler",
        text: "No Fortran compiler was found.",
        cause: "`SCR_ENABLE_FORTRAN=ON` asks for one.",
        remedy: "Name it in `-DCMAKE_Fortran_COMPILER=`, or leave Fortran out with `-DSCR_ENABLE_FORTRAN=OFF`.",
    }
    MOD_FILE = 504 {
        title: "The .mod file does not fit",
        text: "",
        cause: "Your compiler says that it cannot read `scrf.mod`, or that it is of another version. A `.mod` file fits one \
         compiler.",
        remedy: "Compile `share/scr/fortran/scrf.F90` of the installation with the program, and link `libscr`.",
    }
}
