"""Sessions on communicators of the program: the calls of SCR for their processes."""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Any, Callable, Iterator, Optional, Protocol, Type, TypeVar, Union

from . import _calls, _fields, _mpi
from ._calls import FLAG_CHECKPOINT, Params
from ._fields import Listed
from ._library import NO_SESSION, SUCCESS, WORLD_SESSION, Error, Path, function, in_session, is_off, text_in, whole, why
from ._phases import Output, Restart, restarts_of

T = TypeVar("T")


class Communicator(Protocol):
    """A communicator of mpi4py."""

    def py2f(self) -> int:
        """Its handle in Fortran."""


#: A communicator, or its handle in Fortran.
Comm = Union[Communicator, int]


class Session:
    """SCR for the processes of a communicator, as the functions of this module are for those of MPI_COMM_WORLD.

    Several sessions can be open at once, on communicators that overlap. Each has its own prefix directory, cache and
    parameters, and restarts from its own checkpoints::

        with scr.Session(comm, "ocean", {"SCR_FLUSH": 5}) as ocean:
            ocean.restore(state)
            ...
            ocean.checkpoint(state)

    ``comm`` is a communicator of mpi4py, or the handle of one in Fortran. It is duplicated, and can be freed. ``name``,
    which is the same on all its processes, is a word of letters, digits, ``-``, ``_`` and ``.``; the prefix directory
    is that of SCR_PREFIX with this name below it, unless a parameter says otherwise. ``params`` are those of init().

    If processes of ``comm`` are in repair() of the session of this name, this one joins it, and init() does nothing.

    The constructor is collective over ``comm``. The methods do what the functions of their names do, collective over
    the processes of the session. Without a block, init() starts the session, and finalize() and free() end it. An
    exception that leaves the block goes on without these, as with session().
    """

    def __init__(self, comm: Comm, name: str, params: Params = None) -> None:
        call_name, number = "SCR_Session_create", ctypes.c_int(NO_SESSION)
        _mpi.ensure()
        handle = _handle(call_name, comm)
        code = function("scr_fortran_session_create")(handle, text_in(name), ctypes.byref(number))
        _check(call_name, code, name)
        self.name = name
        self._params = params
        self._number = number.value

    def __enter__(self) -> Session:
        self.init(self._params)
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if kind is None:
            self.finalize()
            self.free()

    def init(self, params: Params = None) -> bool:
        """Starts the session; False if SCR is off, see scr.init(). Collective."""
        return self._do(_calls.init, params)

    def finalize(self) -> None:
        """Stops it, and brings its newest checkpoint to the prefix directory. Collective."""
        self._do(_calls.finalize)

    def free(self) -> None:
        """Frees it after finalize(): no other call of it can follow. Collective."""
        number = ctypes.c_int(self._number)
        _check("SCR_Session_free", function("SCR_Session_free")(ctypes.byref(number)), self.name)
        self._number = number.value

    def repair(self, comm: Comm) -> None:
        """Goes on after processes have failed, on those of ``comm``: the survivors, and others in lost ones' places.

        The survivors call it, in whatever state the session is, and the others make a Session of this name. Then
        have_restart() and restore() offer the newest checkpoint that is whole or can be rebuilt. If none has a run,
        since one failed in init(), it begins one. After an Error it can be called again, on yet another communicator.
        Collective over ``comm``.
        """
        _repair(self._number, comm, self.name)

    def config(self, conf: str) -> Optional[str]:
        """Sets, unsets or tells a parameter of this session; see scr.config(). Collective."""
        return self._do(_calls.config, conf)

    def route_file(self, fname: Path) -> str:
        """The path at which this process must access a file. Local."""
        return self._do(_calls.route_file, fname)

    def allow_other_ranks(self, allowed: bool = True) -> None:
        """Says whether the program can restart from a checkpoint of another number of processes. Collective."""
        self._do(_calls.allow_other_ranks, allowed)

    def have_restart(self) -> Optional[str]:
        """The name of the checkpoint to restart from, or None if there is none. Collective."""
        return self._do(_calls.have_restart)

    def start_restart(self) -> str:
        """Begins to read the checkpoint that have_restart() offered, and tells its name. Collective."""
        return self._do(_calls.start_restart)

    def restart_ranks(self) -> int:
        """The number of processes that wrote the checkpoint which is being read. Local."""
        return self._do(_calls.restart_ranks)

    def restart_file_count(self, rank: int) -> int:
        """The number of files that one of them has written. Local."""
        return self._do(_calls.restart_file_count, rank)

    def restart_file(self, rank: int, index: int) -> str:
        """The path of one of these, for route_file(). Local."""
        return self._do(_calls.restart_file, rank, index)

    def complete_restart(self, valid: bool, bad: bool = True) -> bool:
        """Ends the restart; see scr.complete_restart(). Collective."""
        return self._do(_calls.complete_restart, valid, bad)

    def restarts(self) -> Iterator[Restart]:
        """The checkpoints to restart from, newest first; see scr.restarts(). Collective."""
        return restarts_of(self._number)

    def need_checkpoint(self) -> bool:
        """Should the program write a checkpoint now? Collective."""
        return self._do(_calls.need_checkpoint)

    def start_output(self, name: Optional[str], flags: int) -> None:
        """Begins a dataset; see scr.start_output(). Collective."""
        self._do(_calls.start_output, name, flags)

    def complete_output(self, valid: bool) -> bool:
        """Ends the dataset: did this process write its files? True if all processes did. Collective."""
        return self._do(_calls.complete_output, valid)

    def output(self, name: Optional[str], flags: int = FLAG_CHECKPOINT) -> Output:
        """A dataset that ends with its block; see scr.output(). Collective."""
        return Output(name, flags, self._number)

    def should_exit(self) -> bool:
        """Should the program stop? Collective."""
        return self._do(_calls.should_exit)

    def current(self, name: str) -> None:
        """Makes a checkpoint the one to restart from. Collective."""
        self._do(_calls.current, name)

    def drop(self, name: str) -> None:
        """Removes a dataset from the index, and no file. Collective."""
        self._do(_calls.drop, name)

    def delete(self, name: str) -> None:
        """Removes a dataset with its files. Collective."""
        self._do(_calls.delete, name)

    def checkpoint(self, state: Listed, name: Optional[str] = None, output: bool = False) -> None:
        """Writes a checkpoint of the state; see scr.checkpoint(). Collective."""
        self._do(_fields.checkpoint, state, name, output)

    def checkpoint_if_needed(self, state: Listed) -> bool:
        """Writes one if it is time for it. True if the program should stop now. Collective."""
        return self._do(_fields.checkpoint_if_needed, state)

    def restore(self, state: Listed) -> bool:
        """Restores the state from the newest checkpoint; see scr.restore(). Collective."""
        return self._do(_fields.restore, state)

    def _do(self, action: Callable[..., T], *arguments: Any) -> T:
        return in_session(self._number, action, *arguments)


def repair(comm: Comm) -> None:
    """Goes on with the session of MPI_COMM_WORLD after processes have failed; see Session.repair().

    New processes call it, too. Collective over ``comm``.
    """
    _mpi.ensure()
    _repair(WORLD_SESSION, comm, "MPI_COMM_WORLD")


def _repair(number: int, comm: Comm, about: str) -> None:
    call_name = "SCR_Session_repair"
    handle = _handle(call_name, comm)
    code = function("scr_fortran_session_repair")(ctypes.c_int(number), handle)
    if not in_session(number, is_off):
        _check(call_name, code, about)


def _handle(call_name: str, comm: Comm) -> ctypes.c_int:
    return whole(call_name, "the handle of the communicator", comm if isinstance(comm, int) else comm.py2f())


def _check(call_name: str, code: int, about: str) -> None:
    if code != SUCCESS:
        raise Error(call_name, code, why(about))
