"""MPI, as far as this module needs it: started by mpi4py or else by us."""

from __future__ import annotations

import atexit
import ctypes
import sys
from typing import Any

from ._library import Error, function, library

#: MPI_COMM_WORLD in MPICH and its relatives. In Open MPI it is the address of a variable.
_MPICH_WORLD = 0x44000000


def ensure() -> None:
    """Starts MPI unless the program did. SCR needs it from the first collective call on."""
    mpi4py = sys.modules.get("mpi4py.MPI")
    if _brings_none():
        _of_mpi4py()
        return
    if _asked("MPI_Initialized"):
        return
    if mpi4py is not None and mpi4py.Is_initialized():
        # Two MPIs in one process: SCR would see each process as a job of its own.
        raise Error(
            "SCR_Init",
            reason=f"mpi4py runs with another MPI ({_name_of(mpi4py)}) than {library()._name} was built "
            "with. Install an mpi4py for that MPI (MPICC=... pip install --no-binary mpi4py mpi4py), "
            "or an SCR for this one and name it in SCR_LIBRARY",
        )
    if function("MPI_Init")(None, None) != 0:
        raise Error("MPI_Init", reason="MPI cannot start; was the program launched with its mpiexec?")
    atexit.register(_finalize)


def rank() -> int:
    """This process's number in MPI_COMM_WORLD."""
    if _brings_none():
        return int(_of_mpi4py().COMM_WORLD.Get_rank())
    return _of_world("MPI_Comm_rank")


def ranks() -> int:
    """The number of processes in MPI_COMM_WORLD."""
    if _brings_none():
        return int(_of_mpi4py().COMM_WORLD.Get_size())
    return _of_world("MPI_Comm_size")


def _brings_none() -> bool:
    """Is libscr built without an MPI? It takes the one that the program has loaded then."""
    return not hasattr(library(), "MPI_Initialized")


def _of_mpi4py() -> Any:
    """The module of mpi4py, with its MPI started."""
    mpi4py = sys.modules.get("mpi4py.MPI")
    if mpi4py is None:
        raise Error(
            "SCR_Init",
            reason=f"{library()._name} is built without an MPI, and takes that of mpi4py: put `from mpi4py import MPI` "
            "before the first call of scr",
        )
    if not mpi4py.Is_initialized():
        mpi4py.Init()
    return mpi4py


def _finalize() -> None:
    # After an error that nobody caught, other processes may wait for this one for ever. If it leaves
    # without MPI_Finalize the launcher ends them.
    if not hasattr(sys, "last_value") and not _asked("MPI_Finalized"):
        function("MPI_Finalize")()


def _asked(name: str) -> bool:
    flag = ctypes.c_int(0)
    function(name)(ctypes.byref(flag))
    return flag.value != 0


def _of_world(name: str) -> int:
    ensure()
    number = ctypes.c_int(0)
    function(name)(_world(), ctypes.byref(number))
    return number.value


def _world() -> Any:
    try:
        variable = ctypes.c_char.in_dll(library(), "ompi_mpi_comm_world")
    except ValueError:
        return ctypes.c_int(_MPICH_WORLD)
    return ctypes.c_void_p(ctypes.addressof(variable))


def _name_of(mpi4py: Any) -> str:
    name, version = mpi4py.get_vendor()
    return f"{name} {'.'.join(str(part) for part in version)}"
