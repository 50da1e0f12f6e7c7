"""The installation of scr-rs that its wheel brings: commands, libraries, headers, Fortran and CMake files.

The module for programs is ``scr``. ``scr config`` prints where all else is.
"""

from __future__ import annotations

import os
import sys


def prefix() -> str:
    """The directory of the installation, with bin, include, lib and share in it."""
    return os.path.dirname(os.path.realpath(__file__))


def main() -> None:
    """Becomes the command scr, under the name by which this program was called."""
    program = os.path.join(prefix(), "bin", "scr")
    name = os.path.basename(sys.argv[0])
    try:
        os.execv(program, [name, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{name}: cannot run {program}: {error.strerror}")
