//! Messages of a checkpoint and of its flush.

use super::row::{Explanation, Section, explained};
use scr_engine::messages;

explained! {
    CHECKPOINT = "A checkpoint fails";
    CACHE_FULL {
        title: "The cache is full",
        text: "is not started: STORE=... on node ... has ..., and going by the last dataset it needs ...",
        cause: "The store, by default the memory of the node (`/dev/shm`), has no room for another dataset.",
        remedy: "Free memory, keep fewer datasets (`SCR_CACHE_SIZE`), or name another directory in `SCR_CACHE_BASE`. [Is \
         there room?](user-guide.md#is-there-room) explains what is counted; `scr doctor --nodes 16 --ranks 8 --size \
         4g` computes it.",
    }
    DISK_FULL {
        title: "The disk is full",
        text: "...; free space there or choose another directory",
        cause: "The file system or the quota is full, most often that of the prefix directory.",
        remedy: "Make room. A dataset that could not be flushed stays in the cache and is flushed again later. \
         `SCR_PREFIX_SIZE` keeps only the newest checkpoints there.",
    }
    FLUSH_FAILED {
        title: "A flush fails",
        text: "could not be flushed, ...",
        cause: "The prefix directory cannot be written: full, read-only, or out of order. The reason is at the end of the \
         line.",
        remedy: "Remove that cause. SCR flushes the dataset again from the cache. Do not let the allocation end before: \
         `scr postrun` saves it by hand.",
    }
    NOT_WRITTEN {
        title: "A file is missing in the checkpoint",
        text: "was routed but not written",
        cause: "The program has routed a file and has not written it to the path that it got, or has written nothing.",
        remedy: "Write to the path that `SCR_Route_file` (`scr_routed`) gives, and route only what is written.",
    }
    ROUTED_TWICE {
        title: "Two ranks write one file",
        text: "rank ... has routed ... too, but in the cache each rank has a file of its own",
        cause: "In the nodes' storage each rank has a directory of its own, so two ranks cannot share a file.",
        remedy: "One file for each rank, with its number in the name; or `SCR_CACHE_BYPASS=1`.",
    }
    RANKS_DIFFER {
        title: "Names or flags differ",
        text: "name or flags differ between ranks; give the same on all",
        cause: "`SCR_Start_output` is collective, and the processes do not agree. Often a step counter has gone apart.",
        remedy: "Make the name from data that are the same on all processes.",
    }
    OUTSIDE_OF_PREFIX {
        title: "A file is outside of the prefix directory",
        text: "... is not below the prefix directory ...; write there, or set SCR_PREFIX",
        cause: "SCR manages files below the prefix directory only.",
        remedy: "Set `SCR_PREFIX` to a directory above all of them.",
    }
    WOULD_OVERWRITE {
        title: "It would overwrite a checkpoint",
        text: "... would overwrite a checkpoint in ... that ...; choose another name",
        cause: "A checkpoint of another number of ranks, or of other fields, has that name, and was not given up.",
        remedy: "As the message says; see [another number of ranks](#another-number-of-ranks).",
    }
    SYMBOLIC_LINK {
        title: "A symbolic link",
        text: "it is a symbolic link, which is not followed here",
        cause: "SCR follows no links below its own directories, so that nobody can lead it elsewhere.",
        remedy: "Put the directory itself in place of the link. [Links and other \
         users](failure-model.md#links-and-other-users) has the rules.",
    }
    CACHE_OF_ONE {
        title: "The cache keeps one dataset",
        text: "keeps one dataset (SCR_CACHE_SIZE=1): a failure while a checkpoint is written loses the one before it, too",
        cause: "The new checkpoint takes the place of the last one before it is complete.",
        remedy: "`SCR_CACHE_SIZE=2`, if there is room, or a flush of each checkpoint (`SCR_FLUSH=1`).",
    }
    LOCKED {
        title: "A file cannot be locked",
        text: "is locked by another process for ...",
        cause: "Another process changes the same records, and hangs or is stopped. No record is changed by two at once.",
        remedy: "Find that process on the nodes of the last run and on login nodes (`scr index`, a transfer daemon), and end \
         it. The dataset stays in the cache and is flushed again.",
    }
    NO_DAEMON {
        title: "There is no transfer daemon",
        text: "no transfer daemon serves ...",
        cause: "`SCR_FLUSH_TYPE=DAEMON` is set, and no daemon runs on that node.",
        remedy: "Start the program with `scr run`, or a daemon on each node with `scr transfer`. Until then threads of the \
         program copy.",
    }
    SILENT_DAEMON {
        title: "The transfer daemon is silent",
        text: "has shown no progress for ... s (SCR_FLUSH_DAEMON_TIMEOUT)",
        cause: "The daemon was stopped, or hangs in a file system. A thread of the program copies in its place.",
        remedy: "Look at that process on that node. If it only is slow, set `SCR_FLUSH_DAEMON_TIMEOUT` higher.",
    }
    NOT_HANDED_OVER {
        title: "A flush is not handed over",
        text: "could not be handed over, and scr postrun must save it",
        cause: "With `SCR_FLUSH_POSTSTAGE=1` the end of the program leaves its flushes to `scr poststage`, and the order for \
         it could not be written on a node.",
        remedy: "Run `scr postrun` before the nodes are given back. It saves the dataset from the cache.",
    }
    STALE_RECORD {
        title: "A record is not up to date",
        text: "a record of this run is not up to date",
        cause: "A file in `.scr` cannot be written. It records facts that SCR can find in other places, so that the run goes \
         on.",
        remedy: "Remove the cause at the end of the line. Until then `scr index` and `scr postrun` may show an older state.",
    }
    DROPPED {
        title: "A dataset is dropped",
        text: "is not complete, so it was dropped: ...",
        cause: "`SCR_Complete_output` failed, for the reason at the end of the line. Earlier checkpoints that were not \
         evicted are intact.",
        remedy: "Remove that cause. The run goes on without this dataset.",
    }
    NOT_DELETED {
        title: "An old checkpoint is not deleted",
        text: "could not be deleted: ...",
        cause: "`SCR_PREFIX_SIZE` is to delete an older checkpoint in the prefix directory. A file cannot be removed, is \
         behind a link, or may belong to another dataset.",
        remedy: "Remove the cause at the end of the line, or delete it by hand: `scr index --delete NAME`. Until then it \
         takes space.",
    }
    NOT_CHECKSUMMED {
        title: "Checksums are not recorded",
        text: "has no checksums, so a restart from it compares only sizes: ...",
        cause: "The files could not be read after the dataset was complete, or the record could not be written.",
        remedy: "None, if the reason at the end of the line is gone by then: the next dataset has checksums again.",
    }
    DAMAGED_WHEN_DELETED {
        title: "A file was damaged before it was deleted",
        text: "was damaged before it was deleted from the cache: ...",
        cause: "With `SCR_CRC_ON_DELETE=1` files are compared before they are deleted. The content of this one has changed \
         since it was written.",
        remedy: "Have storage and memory of that node checked.",
    }
    EARLIER_DAEMON {
        title: "A transfer daemon of an earlier run does not end",
        text: "...; end it (kill -9)",
        cause: "The daemon was stopped, or hangs in a file system. It is left out.",
        remedy: "End that process on that node.",
    }
    NOT_KEPT {
        title: "A copy does not keep all of its file",
        text: "...; the content is whole, and what else cannot be kept there is not told again",
        cause: "The file system refuses to set the mode, group, owner or times of a file, or cannot have its \
         holes. Object stores, CIFS and FUSE do. The copy counts: its content is compared and on stable storage.",
        remedy: "None, if nobody needs them. `SCR_COPY_METADATA=0` does not ask for mode, owner and times.",
    }
    NO_WAY {
        title: "A dataset cannot be saved where its files belong",
        text: "cannot be saved in the prefix directory as it is now: ...",
        cause: "On the way to a file in the prefix directory there is a link, or a file in place of a directory, \
         or a directory in which this user may not write; or the file system has less room than the dataset \
         needs. It is found before anything is copied there, and the checkpoint is in the cache.",
        remedy: "Remove that cause while the job runs: the next flush saves the dataset. A link to another file \
         system does not serve; mount that directory there, or set `SCR_PREFIX` to it.",
    }
    REDUNDANCY_WRONG {
        title: "Redundancy is made again",
        text: "the redundancy of ... is made again, as it is wrong on node ...: ...",
        cause: "What was written to a redundancy file is not what follows from the checksums of the data: a bit changed in a \
         message, in memory, or in the file. The data themselves are not concerned, and the redundancy is made again, at most \
         twice. After that the dataset is dropped.",
        remedy: "None for this dataset. If it comes again on one node, have its memory and its network tested.",
    }
    TOO_MANY_FILES {
        title: "Too many open files",
        text: "...: this process may have ... of them (ulimit -n); raise that limit",
        cause: "Program, MPI library and SCR together have as many files open as the system allows one process. SCR keeps \
         fewer of its own open where the limit is low, and needs about ten.",
        remedy: "`ulimit -n 1024` in the job script, before the program is started; or let the program close files before it \
         calls SCR.",
    }
    DIRECTORY_ROUTED {
        title: "A directory is routed",
        text: "is a directory, and only files can be routed; route each file in it by its own name",
        cause: "The program has routed the name of a directory, such as that of ADIOS2 BP or Zarr, and its library has made \
         files in it.",
        remedy: "Route each of these files: `ck.1/data.bp/data.0` and not `ck.1/data.bp`. If their names are not known \
         before they are written, let the library write where SCR has put the first of them, and route the others before \
         `SCR_Complete_output`. With `SCR_CACHE_BYPASS=1` ranks may share them.",
    }
    AFTER_REFUSED_RESTART {
        title: "Nothing is written after a restart that failed",
        text: "nothing is written, as SCR_Restore has failed, and the program would take the place of the checkpoints that it \
         has not restored: ...",
        cause: "There are checkpoints, `SCR_Restore` has restored none of them, and the program went on as if there were \
         none. What it writes from the beginning would replace those of the same names, and evict the others.",
        remedy: "Look at what `SCR_Restore` returns, and end the program if that is an error, after the message that it \
         prints. To begin from the beginning all the same: `SCR_START_ANEW=1`.",
    }
    NONE_DUE {
        title: "No checkpoint is ever due",
        text: "SCR_Need_checkpoint was called ... and has never said yes, so the program has written no checkpoint",
        cause: "The program asks SCR when to write a checkpoint (`SCR_Need_checkpoint`, `SCR_Checkpoint_if_needed`), and nothing \
         is set that could make one due. By default none of these is set, as in SCR v3.1.0.",
        remedy: "Set `SCR_CHECKPOINT_INTERVAL=auto`, or another of the parameters that [say how \
         often](user-guide.md#how-often-to-checkpoint).",
    }
}
