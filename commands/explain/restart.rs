//! Messages of a restart.

use super::row::{Explanation, Section, explained};
use scr_engine::messages;

explained! {
    RESTART = "The program does not go on where it was";
    NO_CHECKPOINT {
        title: "It starts from the beginning",
        text: "no checkpoint to restart from in the cache or in ...: the program starts from the beginning",
        cause: "Neither the nodes of this run nor the prefix directory have a checkpoint. In the first run that is right. \
         Later: another prefix directory (the working directory counts if `SCR_PREFIX` is not set); another job, \
         whose nodes have another cache, while no checkpoint was flushed yet; `SCR_FETCH=0`. As a warning: an earlier start \
         has found the checkpoints there damaged, has told what they lack, and has marked them.",
        remedy: "End the program before it writes over anything. `scr index` in the prefix directory lists what is there. \
         With `SCR_REQUIRE_RESTART=1` a start from the beginning is an error.",
    }
    OTHER_NUMBER_OF_RANKS {
        title: "Another number of ranks",
        text: "was written by ... ranks, this run has ...",
        cause: "The newest checkpoint needs as many processes as wrote it.",
        remedy: "Run with that number. A program that can read its data with another number of ranks tells SCR so: [another \
         number of ranks](user-guide.md#another-number-of-ranks). To give the checkpoint up: `scr index --drop NAME`, \
         or `SCR_START_ANEW=1`.",
    }
    LOST_FILES {
        title: "Files of a node are lost",
        text: "cached ... has lost the files of ...",
        cause: "A node is gone, or its storage was cleared. It is a note: what follows says what became of it.",
        remedy: "None, if a line `is ready in the cache, files of ... rebuilt with ...` comes next. Find out what is wrong \
         with the node: `scr list-down-nodes --reason`.",
    }
    TOO_MANY_LOSSES {
        title: "Too much is lost",
        text: "... are lost or damaged; ... set ... tolerates the loss of ...",
        cause: "More ranks of one redundancy set are gone than the scheme restores.",
        remedy: "An older checkpoint is tried by itself. To survive more: `SCR_COPY_TYPE=RS` with `SCR_SET_FAILURES`, or \
         flush more often (`SCR_FLUSH`). `scr doctor` says which losses are survived.",
    }
    WEAK_REDUNDANCY {
        title: "It survives less than it should",
        text: "... cannot keep the ranks of one failure group apart here: the loss of one ... may lose a dataset; spread \
         ranks evenly over nodes",
        cause: "One node has more ranks than the others together can protect, or there are too few nodes.",
        remedy: "The same number of ranks on each node, and at least two nodes, for XOR over sets of eight best eight. On one \
         node datasets are kept with `SINGLE`.",
    }
    WRONG_CHECKSUM {
        title: "A checksum does not match",
        text: "has CRC32 ..., ... was recorded",
        cause: "The file is not what was written: storage, memory or a network has changed it, or a program has written to \
         it after the checkpoint was complete.",
        remedy: "SCR rebuilds it, or uses an older checkpoint. If it happens on one node again and again, have its storage \
         and memory checked. If the program still writes to its files after `SCR_Complete_output`, close them before.",
    }
    WRONG_SIZE {
        title: "The size is another one",
        text: "has ... bytes, ... were recorded",
        cause: "The file was cut or written to after the checkpoint was complete.",
        remedy: "SCR rebuilds it, or uses an older checkpoint. If the program still writes to its files after \
         `SCR_Complete_output`, close them before.",
    }
    FETCH_FAILED {
        title: "A fetch fails",
        text: "cannot fetch ...: ...; once its files are restored: scr index ...",
        cause: "In the prefix directory files of that checkpoint are missing or damaged. It is marked, and the next older \
         one is tried.",
        remedy: "If a backup has the files, put them back and enter the checkpoint again: `scr index --add NAME`.",
    }
    CANNOT_FETCH_NOW {
        title: "It may be good, but cannot be used now",
        text: "may be good, but cannot be fetched now: ...; start again when that is mended, or give it up by: scr index \
         ...",
        cause: "The file system gave an error that may be gone the next time, or there is no room.",
        remedy: "Remove the cause that the message names, and start again. No older checkpoint takes its place by itself, \
         since the program would then write over the newer one.",
    }
    FILE_OF_OTHER_RANK {
        title: "A file of another rank",
        text: "... is not a file of rank ... in ...; use the name with which that rank has written it",
        cause: "At the restart `SCR_Route_file` was called with a name that this process has not written.",
        remedy: "Use the same names as at the checkpoint, below the name that `SCR_Have_restart` gives. To read files of \
         other ranks: [another number of ranks](user-guide.md#another-number-of-ranks).",
    }
    INCOMPLETE_DATASET {
        title: "A dataset is not used because it was incomplete",
        text: "was being written when a run ended, or could not be completed; it is not used",
        cause: "The run was killed between start and complete of that dataset, or during its flush, and the cache does not \
         have it.",
        remedy: "None. The checkpoint before it is used.",
    }
    CHECKPOINT_REQUIRED {
        title: "A checkpoint is required",
        text: "has no checkpoint to restart from, and SCR_REQUIRE_RESTART=1 asks for one",
        cause: "The nodes of this run and the prefix directory have no checkpoint, and a start from the beginning is not \
         allowed.",
        remedy: "The messages before it say what was found and why it cannot be used. Without `SCR_REQUIRE_RESTART` the \
         program starts from the beginning.",
    }
    NOT_VERIFIED {
        title: "A checkpoint is not verified",
        text: "is not verified: the last run ended before the checksums of ... were taken",
        cause: "`SINGLE` and bypass take checksums in the background. The run ended before that, so that only the sizes of \
         these files were compared.",
        remedy: "None, if the nodes only ended. After a power loss or with doubtful storage restart from an older checkpoint: \
         `SCR_CURRENT`. `SCR_COPY_TYPE=XOR` takes checksums before a dataset counts.",
    }
    FEWER_LOSSES {
        title: "It survives fewer losses than configured",
        text: "is to survive ... losses, but with these ranks and nodes you survive the loss of any ...; use more nodes",
        cause: "There are too few nodes for `SCR_SET_FAILURES`.",
        remedy: "Use more nodes, or accept it.",
    }
    NO_RECORD_LEFT {
        title: "No node has the checkpoint any more",
        text: "cannot be used: no rank's record of it is left in the stores of this run's nodes",
        cause: "The nodes that held it are not in this run, its store is not configured any more, or the job has another id. \
         An older checkpoint is used.",
        remedy: "Run on these nodes again, or configure the store (`STORE`, `SCR_CACHE_BASE`). Until then do not let the run \
         write over what you need.",
    }
    NOT_COPIED {
        title: "A checkpoint of the cache cannot be copied",
        text: "cannot be copied from the cache to ...",
        cause: "Another number of ranks wrote the checkpoint, and this run must read it in the prefix directory. The copy \
         fails for the reason at the end of the line.",
        remedy: "Remove that cause and start again. If more is lost than the redundancy tolerates, an older one is tried by \
         itself.",
    }
    FILE_IN_THE_WAY {
        title: "Another file is in the way",
        text: "another file is there; move it away, or write over it",
        cause: "A restart in bypass must extract a file from a container to this path, where a file with another content is, \
         which somebody has written since: it has another size or another time of change.",
        remedy: "Move it away, or run `scr extract --force NAME`, or restart from the cache (`SCR_CACHE_BYPASS=0`, \
         `SCR_FETCH_BYPASS=0`).",
    }
    READ_IN_PLACE {
        title: "A restart reads in the prefix directory",
        text: "so it is read in place",
        cause: "The cache has no room for the checkpoint, or does not work. All is right, but not as fast.",
        remedy: "Give the store more room, if it matters; `scr doctor --size` computes what is needed.",
    }
    OUTPUT_LOST {
        title: "Output of an earlier run is lost",
        text: "is not in the prefix directory, and cannot be flushed: ...",
        cause: "Output was only in the nodes, and more is lost than its redundancy tolerates; or a newer dataset has its \
         name or number.",
        remedy: "If a node with its files can come back, run there again. Otherwise that output is lost.",
    }
    PURGED {
        title: "SCR_PREFIX_PURGE has deleted the checkpoints",
        text: "SCR_PREFIX_PURGE=1 has deleted ...",
        cause: "The parameter is set, so `SCR_Init` has deleted all datasets in the prefix directory.",
        remedy: "Unset it before the next run, if that should go on from this one.",
    }
    NOT_RECOVERED {
        title: "A cached checkpoint cannot be brought back",
        text: "cannot be brought back: ...",
        cause: "Its files were there, but could not be rebuilt or moved, for the reason at the end of the line. An older one \
         is tried.",
        remedy: "Remove that cause, such as a full store, if you need this checkpoint, and start again before the run writes \
         new ones.",
    }
    NO_SUCH_CHECKPOINT {
        title: "SCR_CURRENT names no checkpoint",
        text: "SCR_CURRENT=...: there is no such checkpoint in the index",
        cause: "The name is misspelt, or that dataset was deleted. The newest checkpoint is used.",
        remedy: "`scr index` lists the names.",
    }
    WRONG_TOTALS {
        title: "Files of a dataset are missing",
        text: "records ... files with ... bytes, but there are ...",
        cause: "A dataset in the prefix directory lacks files, or a file has another size. It is marked as failed, and the \
         next older one is tried.",
        remedy: "If a backup has the files, put them back and enter the checkpoint again: `scr index --add NAME`.",
    }
    NO_CHECKSUMS {
        title: "Files have no checksums",
        text: "unverified, since no checksums were recorded",
        cause: "SCR v3.1.0 wrote the checkpoint, or a run with `SCR_CRC_ON_FLUSH=0`, or one in bypass that was killed before \
         its [checksums](user-guide.md#checksums) were recorded. Only number and sizes of the files were compared.",
        remedy: "None, if you trust the file system. Otherwise let the program check what it reads.",
    }
    NOT_READ {
        title: "A rank could not read it, and it is not given up",
        text: "could not be read: .... It is not given up, since that says nothing of it: start again when that is mended, \
         or give it up by: scr index ...",
        cause: "A process of the program could not read the checkpoint for a reason that says nothing of its content: no \
         memory, a signal, an error of the file system that may pass, or what the program itself names so. No older \
         checkpoint takes its place by itself, since the program would then write over the newer one.",
        remedy: "Remove the cause that the message names, and start again. To go on from an older one, run the command at \
         the end of the message.",
    }
    OTHER_FIELDS {
        title: "No checkpoint has the fields of this program",
        text: "no checkpoint fits this program; the newest: ...",
        cause: "The checkpoints are good, but what the program lists has other names, types or extents than they have: \
         another input, another grid, or another version of the program.",
        remedy: "Start with the input that wrote them. If the program has changed, see [when the program has \
         changed](fields.md#when-the-program-has-changed). To give all of them up and begin from the beginning: \
         `SCR_START_ANEW=1`. Until then nothing is written, so that they stay.",
    }
    CHANGED_IN_RESTART {
        title: "The program changes a checkpoint while it restarts",
        text: "changed while the program restarted from it; ...; open the files of a checkpoint read-only",
        cause: "Size, content or times of a file are other ones in `SCR_Complete_restart` than in `SCR_Start_restart`: the \
         program, or a library such as HDF5 or NetCDF, has opened it for update. SCR has followed the change, since all \
         ranks call the checkpoint valid. If the program is killed before that, or writes after it, the next start finds \
         another checksum than was recorded and refuses the checkpoint.",
        remedy: "Open it read-only (`H5F_ACC_RDONLY`, `NF_NOWRITE`, `fopen(path, \"rb\")`), and close it before \
         `SCR_Complete_restart`. [What is safe](failure-model.md#a-checkpoint-that-the-program-changes).",
    }
    MENDED {
        title: "A damaged file was extracted again",
        text: "was extracted from containers before, and damaged since; it was extracted again",
        cause: "An earlier restart in bypass has extracted the file. It has the size and the time of change that the \
         containers record, and other content: storage has damaged it.",
        remedy: "None: the containers had the right content. If it happens again, have the storage checked.",
    }
    OTHER_DIRECTORY {
        title: "A cache of another directory",
        text: "is the cache of a directory that was ... before: it is not used",
        cause: "The prefix directory was deleted and made again, or is a copy. What the nodes have of the other one is no \
         checkpoint of this one. A directory that was moved on its file system, or is mounted at another place, keeps its caches.",
        remedy: "`scr clean` with the job id in the message removes the cache. To go on from it, move the directory back that it \
         is of.",
    }
}
