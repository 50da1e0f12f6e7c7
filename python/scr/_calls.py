"""The calls of SCR, under the names of SCR v3.1.0's own module."""

from __future__ import annotations

import ctypes
import os
from typing import List, Mapping, Optional, Sequence, Union

from . import _mpi
from ._library import SUCCESS, Error, Path, TextOut, call, function, is_off, text_in, whole

FLAG_NONE = 0
#: SCR_NOT_READ of scr.h.
_NOT_READ = 0x534352
FLAG_CHECKPOINT = 1
FLAG_OUTPUT = 2

#: Parameters for init().
Params = Union[str, Sequence[str], Mapping[str, object], None]


def config(conf: str) -> Optional[str]:
    """Sets ("NAME=value") or unsets ("NAME=") a parameter, before init(), or tells its value ("NAME").

    Returns the value, or None if there is none, and when it sets or unsets. Collective, with the same
    text on all processes. Starts MPI if the program did not.
    """
    _mpi.ensure()
    ask = function("SCR_Config")
    # Not c_char_p, which would lose the address that has to be freed.
    ask.restype = ctypes.c_void_p
    address = ask(text_in(conf))
    if not address:
        return None
    value = os.fsdecode(ctypes.string_at(address))
    function("free")(ctypes.c_void_p(address))
    return value


def init(params: Params = None) -> bool:
    """Starts SCR. Collective; starts MPI, too, if the program did not.

    ``params`` are set before: "NAME=value", or a list of such, or a dict, in which None unsets.
    False if SCR is off (SCR_ENABLE=0): then no call raises Error, nothing is offered, needed or written, and files are
    where the program names them. Raises Error if it cannot start. The program can go on without it.
    """
    _mpi.ensure()
    for setting in _settings(params):
        config(setting)
    call("SCR_Init")
    return not is_off()


def _settings(params: Params) -> List[str]:
    if params is None:
        return []
    if isinstance(params, str):
        return [params] if params else []
    if isinstance(params, Mapping):
        return [f"{name}={_value(value)}" for name, value in params.items()]
    if isinstance(params, (list, tuple)):
        return [str(setting) for setting in params]
    raise TypeError(f"the parameters for scr.init are a {type(params).__name__}, not a str, list or dict")


def _value(value: object) -> str:
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool) else str(value)


def finalize() -> None:
    """Stops SCR, and brings the newest checkpoint to the prefix directory. Collective."""
    # Afterwards nothing is off any more.
    if is_off():
        function("SCR_Finalize")()
    else:
        call("SCR_Finalize")


def route_file(fname: Path) -> str:
    """The path at which this process must access a file. Local.

    Between start and complete of an output the call makes the file part of the dataset; SCR makes its
    directory. In a restart it raises Error if the file is not there. In no phase it gives ``fname``.
    """
    path = TextOut()
    call("SCR_Route_file", text_in(fname), path.buffer, about=os.fsdecode(fname))
    return os.fsdecode(fname) if is_off() else str(path)


def allow_other_ranks(allowed: bool = True) -> None:
    """Says whether this program can restart from a checkpoint of another number of processes.

    Collective, after init() and before have_restart(). Not in SCR v3.1.0.
    """
    call("SCR_Allow_other_ranks", ctypes.c_int(bool(allowed)))


def have_restart() -> Optional[str]:
    """The name of the checkpoint to restart from, or None if there is none. Collective."""
    have, name = ctypes.c_int(0), TextOut()
    call("SCR_Have_restart", ctypes.byref(have), name.buffer)
    return str(name) if have.value else None


def start_restart() -> str:
    """Begins to read the checkpoint that have_restart() offered, and tells its name. Collective."""
    name = TextOut()
    call("SCR_Start_restart", name.buffer)
    return str(name)


def restart_ranks() -> int:
    """The number of processes that wrote the checkpoint which is being read. Local."""
    ranks = ctypes.c_int(0)
    call("SCR_Restart_ranks", ctypes.byref(ranks))
    return ranks.value


def restart_file_count(rank: int) -> int:
    """The number of files that process ``rank`` of the run that wrote the checkpoint has written. Local."""
    name, count = "SCR_Restart_file_count", ctypes.c_int(0)
    call(name, whole(name, "the rank", rank), ctypes.byref(count), about=f"rank {rank}")
    return count.value


def restart_file(rank: int, index: int) -> str:
    """The path of one of them, for route_file(). ``index`` counts from 0. Local."""
    call_name, name = "SCR_Restart_file", TextOut()
    numbers = whole(call_name, "the rank", rank), whole(call_name, "the index", index)
    call(call_name, *numbers, name.buffer, about=f"rank {rank}, index {index}")
    return str(name)


def complete_restart(valid: bool, bad: bool = True) -> bool:
    """Ends the restart: did this process read all its files? True if all did. Collective.

    Otherwise the checkpoint is given up, and have_restart() tells whether there is an older one. What was
    read has to be initialised again on all processes. With ``bad`` false this process could not read the
    checkpoint for a reason that says nothing of it (no memory, an interrupt): it is not given up,
    have_restart() raises Error in this run, and the next run restarts from it.
    """
    if valid or bad:
        return _completed("SCR_Complete_restart", valid)
    function("SCR_Complete_restart")(ctypes.c_int(_NOT_READ))
    return False


def need_checkpoint() -> bool:
    """Should the program write a checkpoint now? Collective."""
    return _asked("SCR_Need_checkpoint")


def start_output(name: Optional[str], flags: int) -> None:
    """Begins a dataset, before any of its files is made. Collective, with the same arguments everywhere.

    ``flags`` are FLAG_CHECKPOINT and FLAG_OUTPUT, or-ed; without a name SCR makes one. If it raises
    Error, which it does on all processes, nothing must be written.
    """
    call_name = "SCR_Start_output"
    number = whole(call_name, "the flags", int(flags))
    call(call_name, None if name is None else text_in(name), number, about=name or "")


def complete_output(valid: bool) -> bool:
    """Ends the dataset, whose files are all closed: did this process write its files? Collective.

    True if all processes did, and the data are protected as configured.
    """
    return _completed("SCR_Complete_output", valid)


def should_exit() -> bool:
    """Should the program stop? Best asked after each checkpoint. Collective."""
    return _asked("SCR_Should_exit")


def current(name: str) -> None:
    """Makes a checkpoint the one to restart from. Collective."""
    call("SCR_Current", text_in(name), about=name)


def drop(name: str) -> None:
    """Removes a dataset from the index, and no file. Collective.

    As with SCR v3.1.0 it raises nothing if there is no such dataset; libscr says so.
    """
    function("SCR_Drop")(text_in(name))


def delete(name: str) -> None:
    """Removes a dataset with its files. Collective."""
    call("SCR_Delete", text_in(name), about=name)


def get_version() -> str:
    """The version of the interface of libscr, like "v3.1.0". Local, at any time."""
    tell = function("SCR_Get_version")
    tell.restype = ctypes.c_char_p
    version = tell()
    if version is None:
        raise Error("SCR_Get_version")
    return os.fsdecode(version)


def _asked(name: str) -> bool:
    answer = ctypes.c_int(0)
    call(name, ctypes.byref(answer))
    return answer.value != 0


def _completed(name: str, valid: bool) -> bool:
    return bool(function(name)(ctypes.c_int(bool(valid))) == SUCCESS)
