"""Checkpoints of fields: the program gives its arrays, in a dict or in a function that lists them."""

from __future__ import annotations

import ctypes
import sys
from collections import abc
from functools import partial
from typing import Any, Callable, List, MutableMapping, Optional, Tuple, Union

from ._calls import FLAG_CHECKPOINT, FLAG_OUTPUT
from ._library import SUCCESS, Error, function, is_off, text_in, why
from ._state import Copies, Field, Index, State

#: SCR_List_fn of scr.h.
_ROUTINE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

#: A dict of arrays and scalars, or a function that lists them.
Listed = Union[MutableMapping[str, Any], Callable[[State], object]]


def checkpoint(state: Listed, name: Optional[str] = None, output: bool = False) -> None:
    """Writes a checkpoint of the state. Collective, with the same arguments on all processes.

    ``state`` is a dict, whose arrays (of numpy, or of another type with the buffer protocol) are this process's
    own, and whose ints, floats, bools, complex numbers, strs, bytes and scalars of numpy are the same on all
    processes. part(), by_index(), same() and own() say otherwise. A dict in a dict is a list in the list. Or ``state`` is a
    function, which lists the fields with the methods of the State that it gets::

        scr.checkpoint({"step": step, "grid": scr.part(grid, whole=(4000, 500), at=(first, 0))})

    Without a name SCR makes one. With ``output`` the dataset is an output of the program, too, and is kept.

    Raises on all processes if one cannot write: what its function raised, and Error on the others. Older
    checkpoints are as they were.
    """
    flags = FLAG_CHECKPOINT | (FLAG_OUTPUT if output else 0)
    encoded = None if name is None else text_in(name)
    _with_routine("SCR_Checkpoint", state, lambda routine: (encoded, ctypes.c_int(flags), routine, None))


def checkpoint_if_needed(state: Listed) -> bool:
    """Writes a checkpoint if need_checkpoint() says so. True if the program should stop now. Collective.

    If it raises, as checkpoint() does, should_exit() tells whether to stop.
    """
    stop_now = ctypes.c_int(0)
    _with_routine("SCR_Checkpoint_if_needed", state, lambda routine: (routine, None, ctypes.byref(stop_now)))
    return stop_now.value != 0


def restore(state: Listed) -> bool:
    """Restores the state from the newest checkpoint that is whole and has these fields. Collective, after init().

    False if there is no checkpoint. ``state`` is what checkpoint() takes. Arrays are filled in place. Scalars in
    a dict are replaced, those in part(), same() and own() as their ``value``. A function is called twice for each
    checkpoint that is tried (once more with bags by a key): nothing changes before the last call, in which the state is
    read.

    Raises what the function of this process raised, or Error if there are checkpoints, and none has these fields
    or one cannot be read now. Then no array has changed unless a message says so, and no scalar has. After an
    exception that was not one of SCR's, no other checkpoint is offered in this run.
    """
    found = ctypes.c_int(0)
    _with_routine("SCR_Restore", state, lambda routine: (routine, None, ctypes.byref(found)))
    return found.value != 0


def _with_routine(name: str, state: Listed, arguments: Callable[[Any], Tuple[Any, ...]]) -> None:
    """Makes a call that takes a routine of C, which lists the state."""
    if not callable(state) and not isinstance(state, abc.MutableMapping):
        raise TypeError(f"the state is a {type(state).__name__}; give a dict, or a function that takes a State")
    errors: List[BaseException] = []
    copies = Copies()
    scalars: List[Callable[[], None]] = []

    def run(handle: int, _context: Optional[int]) -> int:
        listed = State(handle, copies)
        errors.clear()
        scalars.clear()
        try:
            if callable(state):
                state(listed)
            else:
                _list_mapping(listed, state, scalars)
            return SUCCESS
        except BaseException as error:
            # It must not pass through C, and the other processes must learn of it.
            errors.append(error)
            return 1
        finally:
            listed.close()

    def keep_lost(lost: Any) -> None:
        # A handler of a signal may raise where `run` begins or ends, outside of its `try`. What the routine
        # has returned to C is not defined then, so a list without an end makes the call fail.
        frame = lost.exc_traceback and lost.exc_traceback.tb_frame
        if frame is not None and copies.is_lost(frame.f_code):
            # Nor has a copy in which it raises been made, whatever SCR was told.
            copies.errors.append(lost.exc_value)
            return
        if frame is None or frame.f_code is not run.__code__:
            hook(lost)
            return
        errors.append(lost.exc_value)
        state_of_c = ctypes.c_void_p(frame.f_locals["handle"])
        function("SCR_Begin_list")(state_of_c, text_in("an exception in Python"))

    hook, sys.unraisablehook = sys.unraisablehook, keep_lost
    try:
        code = function(name)(*arguments(_ROUTINE(run)))
        if errors:
            raise errors[0]
        copies.check()
        if code != SUCCESS and not is_off():
            raise Error(name, code, why())
        for replace in scalars:
            replace()
    finally:
        sys.unraisablehook = hook
        # An error and this frame would keep each other alive, with the arrays.
        errors.clear()
        copies.errors.clear()


def _list_mapping(listed: State, state: MutableMapping[str, Any], scalars: List[Callable[[], None]]) -> None:
    """Lists what is in a dict. Adds to ``scalars`` how those which were read are replaced."""
    for name, value in state.items():
        if isinstance(value, abc.MutableMapping):
            with listed.list(name):
                _list_mapping(listed, value, scalars)
            continue
        if isinstance(value, Index):
            listed.index(name, value.ids, value.whole, value.first, value.shared)
            continue
        field = value if isinstance(value, Field) else Field(value)
        new = listed.put(name, field)
        if new is field.value:
            continue
        if field is value:
            scalars.append(partial(setattr, field, "value", new))
        else:
            scalars.append(partial(state.__setitem__, name, new))
