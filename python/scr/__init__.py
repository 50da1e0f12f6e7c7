"""The Scalable Checkpoint / Restart library, libscr, for MPI programs in Python.

It has the functions and constants of the module of SCR v3.1.0, which are the calls of C under Python's
names, and with ``output``, ``restarts`` and ``session`` what ends with its block::

    from mpi4py import MPI      # if it is there; otherwise scr.init() starts MPI
    import scr

    rank = scr.rank()
    with scr.session():
        step, field = 0, numpy.zeros(1000)
        for ck in scr.restarts():
            with ck:
                loaded = numpy.load(ck.route(f"{ck.name}/rank.{rank}.npz"))
                loaded = int(loaded["step"]), loaded["field"]
            if ck.valid:
                step, field = loaded
        while step < 100 and not scr.should_exit():
            step += 1
            ...
            if step % 10 == 0:
                with scr.output(f"ck.{step}") as ds:
                    numpy.savez(ds.route(f"ck.{step}/rank.{rank}.npz"), step=step, field=field)

With checkpoints of fields a program writes no files itself; see checkpoint() and restore()::

    state = {"step": 0, "field": numpy.zeros(1000)}
    scr.restore(state)              # before the loop
    scr.checkpoint(state)           # in the loop

A Session has the same calls for the processes of another communicator; several can be open at once.

All calls are collective over MPI_COMM_WORLD but route_file, restart_ranks, restart_file_count,
restart_file, get_version, rank, ranks, part, index, by_index, same and own. A call that fails raises Error, which is a
RuntimeError; complete_output and complete_restart return False. The manual pages (man SCR_Start_output) say more of each.

The environment variable SCR_LIBRARY names libscr.so. Without it, the one that was installed with this
module is used, or the one that the loader finds.
"""

from ._calls import (
    FLAG_CHECKPOINT,
    FLAG_NONE,
    FLAG_OUTPUT,
    allow_other_ranks,
    complete_output,
    complete_restart,
    config,
    current,
    delete,
    drop,
    finalize,
    get_version,
    have_restart,
    init,
    need_checkpoint,
    restart_file,
    restart_file_count,
    restart_ranks,
    route_file,
    should_exit,
    start_output,
    start_restart,
)
from ._fields import checkpoint, checkpoint_if_needed, restore
from ._library import Error
from ._memory import Stored
from ._mpi import rank, ranks
from ._phases import Output, Restart, output, restarts, session
from ._session import Session, repair
from ._state import Copy, Field, Index, State, by_index, index, own, part, same

__all__ = [
    "FLAG_CHECKPOINT",
    "FLAG_NONE",
    "FLAG_OUTPUT",
    "Copy",
    "Error",
    "Field",
    "Index",
    "Output",
    "Restart",
    "Session",
    "State",
    "Stored",
    "allow_other_ranks",
    "by_index",
    "checkpoint",
    "checkpoint_if_needed",
    "complete_output",
    "complete_restart",
    "config",
    "current",
    "delete",
    "drop",
    "finalize",
    "get_version",
    "have_restart",
    "index",
    "init",
    "need_checkpoint",
    "output",
    "own",
    "part",
    "rank",
    "ranks",
    "repair",
    "restart_file",
    "restart_file_count",
    "restart_ranks",
    "restarts",
    "restore",
    "route_file",
    "same",
    "session",
    "should_exit",
    "start_output",
    "start_restart",
]
