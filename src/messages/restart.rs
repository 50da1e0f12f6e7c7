//! Messages of a restart.

use super::{Code, Explanation, Section, explained};

explained! {
    RESTART = "The program does not go on where it was";
    NO_CHECKPOINT = 201 {
        title: "It starts from the beginning",
        text: "no checkpoint to restart from in the cache or in ...: the program starts from the beginning",
        cause: "Neither the nodes of this run nor the prefix directory have a checkpoint. In the first run that is right. \
         Later: another prefix directory (the working directory counts if `SCR_PREFIX` is not set); another job, \
         whose nodes have another cache, while no checkpoint was flushed yet; `SCR_FETCH=0`.",
        remedy: "End the program before it writes over anything. `scr index` in the prefix directory lists what is there. \
         With `SCR_REQUIRE_RESTART=1` a start from the beginning is an error.",
    }
    OTHER_NUMBER_OF_RANKS = 202 {
        title: "Another number of ranks",
        text: "was written by ... ranks, this run has ...",
        cause: "The newest checkpoint needs as many processes as wrote it.",
        remedy: "Run with that number. A program that can read its data with another number of ranks tells SCR so: [another \
         number of ranks](user-guide.md#another-number-of-ranks). To give the checkpoint up: `scr index --drop NAME`, \
         or `SCR_START_ANEW=1`.",
    }
    LOST_FILES = 203 {
        title: "Files of a node are lost",
        text: "cached ... has lost the files of ...",
        cause: "A node is gone, or its storage was cleared. It is a note: what follows says what became of it.",
        remedy: "None, if a line `is ready in the cache, files of ... rebuilt with ...` comes next. Find out what is wrong \
         with the node: `scr list-down-nodes --reason`.",
    }
    TOO_MANY_LOSSES = 204 {
        title: "Too much is lost",
        text: "... are lost or damaged; ... set ... tolerates the loss of ...",
        cause: "More ranks of one redundancy set are gone than the scheme restores.",
        remedy: "An older checkpoint is tried by itself. To survive more: `SCR_COPY_TYPE=RS` with `SCR_SET_FAILURES`, or \
         flush more often (`SCR_FLUSH`). `scr doctor` says which losses are survived.",
    }
    WEAK_REDUNDANCY = 205 {
        title: "It survives less than it should",
        text: "... cannot keep the ranks of one failure group apart here: the loss of one ... may lose a dataset; spread \
         ranks evenly over nodes",
        cause: "One node has more ranks than the others together can protect, or there are too few nodes.",
        remedy: "The same number of ranks on each node, and at least two nodes, for XOR over sets of eight best eight. On one \
         node datasets are kept with `SINGLE`.",
    }
    WRONG_CHECKSUM = 206 {
        title: "A checksum does not match",
        text: "has CRC32 ..., ... was recorded",
        cause: "The file is not what was written: storage, memory or a network has changed it, or a program has written to \
         it after the checkpoint was complete.",
        remedy: "SCR rebuilds it, or uses an older checkpoint. If it happens on one node again and again, have its storage \
         and memory checked. If the program still writes to its files after `SCR_Complete_output`, close them before.",
    }
    WRONG_SIZE = 207 {
        title: "The size is another one",
        text: "has ... bytes, ... were recorded",
        cause: "The file was cut or written to after the checkpoint was complete.",
        remedy: "SCR rebuilds it, or uses an older checkpoint. If the program still writes to its files after \
         `SCR_Complete_output`, close them before.",
    }
    FETCH_FAILED = 208 {
        title: "A fetch fails",
        text: "cannot fetch ...: ...; once its files are restored: scr index ...",
        cause: "In the prefix directory files of that checkpoint are missing or damaged. It is marked, and the next older \
         one is tried.",
        remedy: "If a backup has the files, put them back and enter the checkpoint again: `scr index --add NAME`.",
    }
    CANNOT_FETCH_NOW = 209 {
        title: "It may be good, but cannot be used now",
        text: "may be good, but cannot be fetched now: ...; start again when that is mended, or give it up by: scr index \
         ...",
        cause: "The file system gave an error that may be gone the next time, or there is no room.",
        remedy: "Remove the cause that the message names, and start again. No older checkpoint takes its place by itself, \
         since the program would then write over the newer one.",
    }
    FILE_OF_OTHER_RANK = 210 {
        title: "A file of another rank",
        text: "... is not a file of rank ... in ...; use the name with which that rank has written it",
        cause: "At the restart `SCR_Route_file` was called with a name that this process has not written.",
        remedy: "Use the same names as at the checkpoint, below the name that `SCR_Have_restart` gives. To read files of \
         other ranks: [another number of ranks](user-guide.md#another-number-of-ranks).",
    }
    INCOMPLETE_DATASET = 211 {
        title: "A dataset is not used because it was incomplete",
        text: "was being written when a run ended, or could not be completed; it is not used",
        cause: "The run was killed between start and complete of that dataset, or during its flush, and the cache does not \
         have it.",
        remedy: "None. The checkpoint before it is used.",
    }
    CHECKPOINT_REQUIRED = 212 {
        title: "A checkpoint is required",
        text: "has no checkpoint to restart from, and SCR_REQUIRE_RESTART=1 asks for one",
        cause: "The nodes of this run and the prefix directory have no checkpoint, and a start from the beginning is not \
         allowed.",
        remedy: "The messages before it say what was found and why it cannot be used. Without `SCR_REQUIRE_RESTART` the \
         program starts from the beginning.",
    }
    NOT_VERIFIED = 213 {
        title: "A checkpoint is not verified",
        text: "is not verified: the last run ended before the checksums of ... were taken",
        cause: "`SINGLE` and bypass take checksums in the background. The run ended before that, so that only the sizes of \
         these files were compared.",
        remedy: "None, if the nodes only ended. After a power loss or with doubtful storage restart from an older checkpoint: \
         `SCR_CURRENT`. `SCR_COPY_TYPE=XOR` takes checksums before a dataset counts.",
    }
}
