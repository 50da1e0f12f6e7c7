"""libscr: where it is, and how its functions are called."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Callable, List, Optional, Tuple, TypeVar, Union

SUCCESS = 0
MAX_FILENAME = 1024

#: The name of libscr with the version of its interface, as the loader knows it.
SONAME = "libscr.so.3"

#: Numbers of sessions, as in scr_session.h.
WORLD_SESSION, NO_SESSION = 0, -1

T = TypeVar("T")

#: What a path can be given as.
Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


class Error(RuntimeError):
    """A call of SCR that failed, and why. What SCR itself has found it has told on standard error, too.

    ``call`` is the name of the call in C, ``code`` what it returned: not 0. ``reason`` is the text of the error, with its
    code, such as SCR-110, if it has one.
    """

    def __init__(self, call: str, code: int = 1, reason: str = "the messages of SCR say why") -> None:
        super().__init__(call, code, reason)
        self.call = call
        self.code = code
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.call} failed (code {self.code}): {self.reason}"


_library: Optional[ctypes.CDLL] = None


def library() -> ctypes.CDLL:
    """libscr, loaded when it is first needed."""
    global _library
    if _library is None:
        _library = _load()
    return _library


def _load() -> ctypes.CDLL:
    candidates = _candidates()
    tried = []
    for path, origin in candidates:
        try:
            # Open MPI's plugins look for its symbols among those of the whole program.
            return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            tried.append(f"{path} ({origin}): {error}")
    raise Error(
        "loading libscr",
        reason="; ".join(tried)
        + ". Set SCR_LIBRARY to the path of libscr.so, or LD_LIBRARY_PATH to its directory; SCR must be "
        "built with shared libraries (BUILD_SHARED_LIBS=ON), and its MPI must be installed here",
    )


def _candidates() -> List[Tuple[str, str]]:
    named = os.environ.get("SCR_LIBRARY")
    if named:
        return [(named, "SCR_LIBRARY")]
    found = []
    try:
        # Written by CMake when it installs this package: a path relative to it.
        from ._installed import LIBRARY  # type: ignore
    except ImportError:
        pass
    else:
        beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), LIBRARY)
        found.append((os.path.normpath(beside), "of this installation"))
    found.append((SONAME, "by the loader"))
    return found


def function(name: str) -> Any:
    """A function of libscr, or of the MPI that it brings with it."""
    try:
        return getattr(library(), name)
    except AttributeError:
        raise Error(name, reason=f"{library()._name} has no such function; is it the libscr of scr-rs?") from None


def is_off() -> bool:
    """Is SCR off (SCR_ENABLE=0), between init() and finalize()? Then no call succeeds, and none matters."""
    return bool(function("scr_is_off")())


def why(about: str = "") -> str:
    """Why the last call of this thread that failed has failed. ``about`` is what it was called for."""
    tell = function("SCR_Reason")
    tell.restype = ctypes.c_char_p
    reason = (tell() or b"").decode(errors="replace") or "the messages of SCR say why"
    return f"{about}: {reason}" if about else reason


def call(name: str, *arguments: Any, about: str = "") -> None:
    """Makes a call that returns a code, and raises Error unless that is SUCCESS, or SCR is off."""
    code = function(name)(*arguments)
    if code != SUCCESS and not is_off():
        raise Error(name, code, why(about))


def in_session(session: Optional[int], action: Callable[..., T], *arguments: Any) -> T:
    """Makes calls of a session; None is the one whose calls are made already."""
    if session is None:
        return action(*arguments)
    enter, before = function("SCR_Session_enter"), WORLD_SESSION
    try:
        # A handler of a signal may raise after the call and before its result is known.
        before = enter(ctypes.c_int(session))
        return action(*arguments)
    finally:
        enter(ctypes.c_int(before))


def text_in(value: Path) -> ctypes.c_char_p:
    """A path or a name, for C. Names of files keep the bytes that are no text."""
    encoded = os.fsencode(value)
    if b"\0" in encoded:
        raise ValueError(f"a NUL in {value!r}, which SCR cannot take")
    return ctypes.c_char_p(encoded)


class TextOut:
    """A buffer in which C tells a path or a name."""

    def __init__(self) -> None:
        self.buffer = ctypes.create_string_buffer(MAX_FILENAME)

    def __str__(self) -> str:
        return os.fsdecode(self.buffer.value)


def whole(call: str, what: str, value: int) -> ctypes.c_int:
    """A whole number, for C, where a larger one would be cut off."""
    if not -(2**31) <= value < 2**31:
        raise Error(call, reason=f"{what} is {value}, which is out of range")
    return ctypes.c_int(value)
