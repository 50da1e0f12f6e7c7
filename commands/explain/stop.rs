//! Messages of the end of a program.

use super::row::{Explanation, Section, explained};
use scr_engine::messages;

explained! {
    STOP = "The program stops";
    JOB_SHOULD_STOP {
        title: "It stops though nothing failed",
        text: "the job should stop: ...",
        cause: "A [halt condition](running-jobs.md#halting) holds: the time is over, somebody asked for it, or a number of checkpoints is \
         reached.",
        remedy: "`scr halt --list` shows the conditions, `scr halt --unset-seconds` and the like remove them.",
    }
    STOPPED_IN_FORTRAN {
        title: "It stops in a call of Fortran",
        text: "SCR stops the program, which passes no ierror to ...",
        cause: "The call failed, the program did not ask for the status, and to go on would do harm. The line before has the \
         reason.",
        remedy: "Remove the reason, or pass `ierror` and decide in the program.",
    }
    END_NOT_KNOWN {
        title: "The end of the allocation is not known",
        text: "the end of the allocation is not known, so SCR_HALT_SECONDS does not count",
        cause: "The resource manager does not tell it.",
        remedy: "Set `SCR_END_TIME`, in seconds since 1970.",
    }
    COMMUNICATION_FAILED {
        title: "The communication fails",
        text: "communication failed in ...",
        cause: "A function of MPI has returned an error. Most often a process or a node has died.",
        remedy: "Start again in the same allocation: `scr run` does so. A program that makes its communicator whole again \
         can go on with SCR_Session_repair. Look at the messages of the resource manager for the node that died.",
    }
}
