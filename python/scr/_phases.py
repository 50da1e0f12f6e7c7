"""Datasets and restarts that end with their block."""

from __future__ import annotations

import errno
import logging
from contextlib import contextmanager
from types import TracebackType
from typing import Iterator, List, Optional, Type

from . import _calls
from ._calls import FLAG_CHECKPOINT, Params
from ._library import Error, Path, in_session, is_off, why

#: Errors of the program, not of a file that it reads: another checkpoint would not help.
_PROGRAM_ERRORS = (TypeError, NameError, AttributeError, ImportError, MemoryError, RecursionError)

#: What an OSError may say of the file itself: it is not there, or it is of another kind.
_OF_FILE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EINVAL)


def _is_of_program(error: BaseException) -> bool:
    return not isinstance(error, Exception) or isinstance(error, _PROGRAM_ERRORS)


def _says_nothing(error: BaseException) -> bool:
    """True for errors that say nothing of the checkpoint: it may be good."""
    may_pass = isinstance(error, OSError) and error.errno is not None and error.errno not in _OF_FILE
    return may_pass or _is_of_program(error)


class Output:
    """A dataset that is being written; see output()."""

    def __init__(self, name: Optional[str], flags: int, session: Optional[int] = None) -> None:
        self.name = name
        self.flags = flags
        self._session = session
        #: True or False once the block has ended.
        self.valid: Optional[bool] = None
        self._open = False

    def __enter__(self) -> Output:
        if self._open or self.valid is not None:
            raise Error("SCR_Start_output", reason="a second block for one scr.output()")
        in_session(self._session, _calls.start_output, self.name, self.flags)
        self._open = True
        return self

    def route(self, fname: Path) -> str:
        """Makes a file part of the dataset, and tells the path at which to write it. Local."""
        if not self._open:
            # Outside of the block SCR would give the name as it is, of a file that may be older.
            raise Error("Output.route", reason=f"{fname!r} is asked for outside of the block of the dataset")
        return in_session(self._session, _calls.route_file, fname)

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._open = False
        self.valid = in_session(self._session, _calls.complete_output, kind is None)
        if kind is None and not self.valid and not in_session(self._session, is_off):
            raise Error("SCR_Complete_output", reason=why(self.name or ""))


def output(name: Optional[str], flags: int = FLAG_CHECKPOINT) -> Output:
    """A dataset, valid if the block ends without an exception on all processes::

        with scr.output("ck.10") as ds:
            with open(ds.route(f"ck.10/rank.{rank}"), "wb") as file:
                ...

    Collective, at begin and end of the block. An exception on some processes goes on there and raises
    Error at the end of the block on all others. The dataset does not count then, and older ones stay as
    they are. Files must be closed inside of the block.
    """
    return Output(name, flags)


class Restart:
    """A checkpoint that is being read; see restarts()."""

    def __init__(self, name: str, session: Optional[int] = None) -> None:
        self.name = name
        self._session = session
        #: True if all processes have read it; None before complete().
        self.valid: Optional[bool] = None
        #: Why this process could not read it.
        self.error: Optional[BaseException] = None

    def route(self, fname: Path) -> str:
        """The path at which to read a file. Raises Error if it is not there. Local."""
        if self.valid is not None:
            raise Error("Restart.route", reason=f"{fname!r} is asked for after the end of this restart")
        return in_session(self._session, _calls.route_file, fname)

    @property
    def ranks(self) -> int:
        """How many processes wrote the checkpoint. Local."""
        return in_session(self._session, _calls.restart_ranks)

    def files(self, rank: int) -> List[str]:
        """The files that one of them wrote, for route(). Local."""
        count = in_session(self._session, _calls.restart_file_count, rank)
        return [in_session(self._session, _calls.restart_file, rank, index) for index in range(count)]

    def complete(self, valid: bool = True, bad: bool = True) -> bool:
        """Ends the restart: has this process read all its files? True if all have. Collective.

        With ``valid`` false the checkpoint is given up, unless ``bad`` is false, too; see
        complete_restart()."""
        if self.valid is not None:
            raise Error("SCR_Complete_restart", reason=f"{self.name}: a second call")
        self.valid = in_session(self._session, _calls.complete_restart, valid, bad)
        return self.valid

    def __enter__(self) -> Restart:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> bool:
        if self.valid is not None:
            return False
        self.error = error
        self.complete(error is None, error is None or not _says_nothing(error))
        if error is None or _is_of_program(error):
            return False
        logging.getLogger("scr").warning(
            "%s cannot be read: %s: %s", self.name, type(error).__name__, error
        )
        return True


def restarts() -> Iterator[Restart]:
    """The checkpoints to restart from, newest first, until all processes have read one::

        for ck in scr.restarts():
            with ck:                                # an exception in here: try the next older
                loaded = read(ck.route(f"{ck.name}/rank.{rank}"))
            if ck.valid:                            # all processes have read it
                step, field = loaded

    Without the inner block, ``ck.complete(valid)`` says whether this process has read its files. An
    attempt of which nothing is said counts as failed. Exceptions that are errors of the program
    (TypeError, NameError, AttributeError, ImportError, MemoryError) are not taken for those of a file: they go on.
    After them, and after an OSError that may pass (EIO, EACCES), the checkpoint is not given up: no other one is
    offered in this run (restarts() raises Error), and the next run restarts from it.
    """
    return restarts_of(None)


def restarts_of(session: Optional[int]) -> Iterator[Restart]:
    """As restarts(), of a session."""
    while in_session(session, _calls.have_restart) is not None:
        attempt = Restart(in_session(session, _calls.start_restart), session)
        yield attempt
        if attempt.valid is None:
            attempt.complete(False)
        if attempt.valid:
            return


@contextmanager
def session(params: Params = None) -> Iterator[None]:
    """SCR from init() to finalize(). An exception that leaves the block goes on without finalize():
    processes that do not see it would not take part. Such a program has to end; its checkpoints stay."""
    _calls.init(params)
    yield
    _calls.finalize()
