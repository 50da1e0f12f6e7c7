//! Messages of a start.

use super::row::{Explanation, Section, explained};
use scr_engine::messages;

explained! {
    START = "The program does not start";
    ALONE_IN_THE_WORLD {
        title: "Every process says that it is rank 0",
        text: "... processes were launched (...), and each is alone in its MPI_COMM_WORLD: the program runs with ..., but the \
         launcher is of another MPI",
        cause: "The launcher is of another MPI than the program: each process is rank 0 in a world of its own, and would go on \
         from the checkpoints of the others. The variable in parentheses is the launcher's. What a program that was launched \
         starts itself is not taken for a part of the launch, and neither is what runs in a batch script without a launcher.",
        remedy: "Use the `mpiexec`, or the `--mpi` of `srun`, for the MPI with which the program was compiled; `scr doctor \
            --program FILE` compares the program with the launchers, and tells which MPI that of SCR is. `scr run` warns before the \
            launch. On Debian `mpiexec.mpich` and `mpiexec.openmpi` are both there, and `mpiexec` is one of \
         them. If each process is to be a job of its own, on purpose: `SCR_SERIAL=1`, and a `SCR_PREFIX` for each.",
    }
    OTHER_MPI {
        title: "The program runs with another MPI",
        text: "the program runs with ..., but this SCR was built with ...: compile and run the program with that MPI",
        cause: "The program, or the libraries that the loader finds at run time, are of another MPI than SCR.",
        remedy: "`pkg-config --variable=mpicc scr` prints the compiler of SCR's MPI. Compile the program with it, or install \
         an SCR for the other MPI. If both are the same, look at `LD_LIBRARY_PATH` and at the loaded modules.",
    }
    BAD_PARAMETER {
        title: "A parameter is refused",
        text: "... is ... but must be ...; correct or remove it",
        cause: "This parameter cannot have that value. `SCR_Init` fails, since to go on with another value could cost data.",
        remedy: "The message names the place, such as `environment` or a file and its line. `scr params` shows what each \
         parameter takes.",
    }
    UNKNOWN_PARAMETER {
        title: "A parameter is unknown",
        text: "environment: no parameter ...; did you mean ...?",
        cause: "A name that begins with `SCR_` is misspelt, or is of another release. It has no effect.",
        remedy: "Correct it. `scr params --set` shows all that count.",
    }
    PREFIX_IN_USE {
        title: "Another run uses the prefix directory",
        text: "another run uses this prefix directory",
        cause: "One run at a time uses a prefix directory, and there is one. Often it is a process of the last run that is \
         still alive.",
        remedy: "Wait for its end, or end it where the message says. For two runs at the same time give each its own \
         `SCR_PREFIX`.",
    }
    CACHE_IN_USE {
        title: "The cache is held by a process",
        text: "on node ... this cache is held by ... now; if that run was killed, end what is left of it (kill -9)",
        cause: "A process of the last run is alive on that node; perhaps it hangs in a file system or is stopped.",
        remedy: "End it there. Two runs that share nodes at the same time need a `SCR_JOB_ID` each.",
    }
    UNSAFE_BASE {
        title: "The base directory is not safe",
        text: "everybody may write to it (mode ...), and it has no sticky bit, so what we put there is not safe",
        cause: "Other users could replace files of SCR in that directory.",
        remedy: "`chmod +t` on it, by its owner, or another directory in `SCR_CACHE_BASE` and `SCR_CNTL_BASE`. One that \
         belongs to another user than root is not safe in any case: its owner can rename what is in it.",
    }
    STORE_IS_NO_DIRECTORY {
        title: "A store is no directory",
        text: "STORE=... is no directory on node ..., and MKDIR=0 says that SCR must not make it",
        cause: "A disk of the node is not mounted, or the path is wrong.",
        remedy: "Have the node looked at, leave it out (`SCR_EXCLUDE_NODES`), or correct the `STORE` line.",
    }
    SCR_IS_OFF {
        title: "SCR is off",
        text: "SCR is off (SCR_ENABLE=0): no checkpoint is offered, protected or copied, and files are where the program \
         names them",
        cause: "`SCR_ENABLE=0` is set, in the environment or in a file. `SCR_Init` returns 1.",
        remedy: "`scr params --set` tells where. The program writes its files as without SCR.",
    }
    CALL_ORDER {
        title: "A call is not allowed here",
        text: "... is not allowed ...; call the SCR_Start_... that belongs to it first",
        cause: "Calls are in the wrong order: a file is routed or a dataset is completed that was not started, or a \
         checkpoint is started while another one is open.",
        remedy: "The message says in which state the program is, and which call is missing. The order is in [the life of a \
         checkpoint](first-use.md#the-life-of-a-checkpoint).",
    }
    MPI_IS_OVER {
        title: "MPI is over",
        text: "MPI is finalised already; call SCR between MPI_Init and MPI_Finalize",
        cause: "The program calls SCR before `MPI_Init` or after `MPI_Finalize`.",
        remedy: "`SCR_Finalize` comes first, then `MPI_Finalize`. If it is the other way round, a warning says `MPI_Finalize \
         was called before SCR_Finalize`, and the newest checkpoint may be only in the cache.",
    }
    STORE_DIFFERS {
        title: "A shared store is not shared",
        text: "is not the same directory for all of GROUP=...",
        cause: "A `STORE` line says that nodes share the directory, but each has its own, or it is not mounted on one.",
        remedy: "For storage in the nodes say `GROUP=NODE VIEW=PRIVATE`. Otherwise mount it on the node that the message \
         names.",
    }
    SITE_KEEPS {
        title: "Only the site sets a parameter",
        text: "is ignored, as only the site sets it (...); ... counts",
        cause: "The [system configuration file](administrators.md#what-users-cannot-set) keeps this parameter for the site.",
        remedy: "Remove your setting; the message names both places. `scr params NAME` shows the value that counts.",
    }
    BASE_NOT_ALLOWED {
        title: "The site does not allow a base directory",
        text: "..., but this site allows only directories in ...; choose one of these, or one below them",
        cause: "The [system configuration file](administrators.md#what-users-cannot-set) lists where caches and control \
         directories may be.",
        remedy: "Name one of these in `SCR_CACHE_BASE`, `SCR_CNTL_BASE` or the `STORE` line.",
    }
    NOT_OURS {
        title: "A directory in the cache is not ours",
        text: "it belongs to user ..., not to us (user ...); have it removed or choose another base directory",
        cause: "Another user has made a directory at that path, may write to it, or it is a link. SCR puts nothing into it, \
         since others could replace it.",
        remedy: "Have it removed, or choose another base in `SCR_CACHE_BASE` and `SCR_CNTL_BASE`. If the base itself is a \
         link, name the directory that it leads to.",
    }
    UNKNOWN_INDEX {
        title: "The index is of another version",
        text: "the index has version ..., this SCR knows version ...; the file is left alone",
        cause: "Another version of SCR has written `.scr/index.scr`, or the file is damaged. SCR does not change it, and \
         `SCR_Init` fails.",
        remedy: "Use that version, or another `SCR_PREFIX`. A damaged index: move it away, and enter each dataset again by \
         `scr index --add NAME`.",
    }
    NO_EFFECT {
        title: "A parameter has no effect",
        text: "... has no effect: ...",
        cause: "The parameter does nothing in this release, for the reason at the end of the line.",
        remedy: "Remove it, or ignore the message.",
    }
    KEPT_WITH_SINGLE {
        title: "Datasets have no redundancy",
        text: "..., so ...: datasets are kept with SINGLE",
        cause: "All ranks run on one node, or in one failure group (`SCR_GROUP`), which takes all copies with it. Or all \
         nodes share the store, which outlives them.",
        remedy: "Use more nodes. With a shared store set `SCR_COPY_TYPE=SINGLE`, or ignore the message.",
    }
    OTHER_PLACE_IN_NODE {
        title: "Processes of a node do not share its storage",
        text: "... is not the same directory for all ranks of node ...: what rank ... has put there is not there for rank ...",
        cause: "Processes with the same host name see different directories at the path of the cache, by default `/dev/shm`. Each \
         runs in a container of its own, or in a service with `PrivateTmp`.",
        remedy: "Start the processes of a node in one container, or mount the node's `/dev/shm` (or another local directory) \
         into all of them, and name it in `SCR_CACHE_BASE` and `SCR_CNTL_BASE`. Where each container is to count as a node of \
         its own, give each its `SCR_NODE_NAME`: then the loss of one container is survived, and that of the machine is not.",
    }
    NO_USABLE_MPI {
        title: "No MPI is found that SCR can use",
        text: "this process has loaded no MPI: link the program with MPI, and call MPI_Init first",
        cause: "This SCR uses the MPI that the program has loaded. The program has loaded no MPI, or two, or one that SCR \
         cannot use for the reason in the message: it is older than MPI 3.0, lacks a function, or is of no family that \
         SCR knows (MPICH and what is made of it, Open MPI, the ABI of MPI 5).",
        remedy: "`ldd` of the program shows its MPI, and `LD_LIBRARY_PATH` and the loaded modules decide which one it is. \
         A program that is linked statically, or has another MPI, needs an SCR that was built with it.",
    }
    WAITS_FOR_ALL {
        title: "A start waits for other processes",
        text: "rank ... (process ...) waits in its first call of SCR for other processes",
        cause: "Not all processes have called `SCR_Init`, which is a call of all processes of `MPI_COMM_WORLD`. Some compute \
         without SCR, serve others, or have failed before. It is no error yet.",
        remedy: "Call it on all processes; or make a [session](sessions.md) on the communicator of those that take part.",
    }
}
