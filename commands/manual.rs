//! Examples and related pages of each command, for its help and its manual page. Tests parse the
//! examples as command lines, and look for the related pages.

mod calls;
pub(crate) mod command;
mod pages;

/// The parts of a manual page that are not in the definition of the command.
#[derive(Debug, Clone, Copy)]
pub struct Manual {
    /// The command.
    pub command: &'static str,
    /// Command lines, each with its purpose.
    pub examples: &'static [(&'static str, &'static str)],
    /// Related commands.
    pub see_also: &'static [&'static str],
}

const fn page(
    command: &'static str,
    examples: &'static [(&'static str, &'static str)],
    see_also: &'static [&'static str],
) -> Manual {
    Manual {
        command,
        examples,
        see_also,
    }
}

/// The manual of the command.
pub fn manual(command: &str) -> Option<&'static Manual> {
    MANUALS.iter().find(|manual| manual.command == command)
}

/// The examples as the end of a help text; empty without examples.
pub(super) fn help(command: &str) -> String {
    let Some(manual) = manual(command) else {
        return String::new();
    };
    let example = |(line, what): &(&str, &str)| format!("  {line}\n          {what}\n");
    let examples: String = manual.examples.iter().map(example).collect();
    format!("Examples:\n{}", examples.trim_end())
}

/// All pages, in the order of the commands.
#[rustfmt::skip]
pub const MANUALS: &[Manual] = &[
    page("index", &[
        ("scr index --prefix /p/run1", "List the checkpoints of a prefix directory."),
        ("scr index --current ck.50", "Let the next run start from ck.50."),
        ("scr index --json", "List all datasets for a program."),
    ], &["inspect", "extract", "scavenge"]),
    page("extract", &[
        ("scr extract ck.100", "Write the files in the containers of ck.100 as plain files."),
        ("scr extract --to /tmp/ck ck.100", "The same, below another directory."),
        ("scr extract --field density -o density.npy ck.100", "Write the field density for numpy."),
    ], &["index", "inspect", "diff"]),
    page("diff", &[
        ("scr diff ck.100 ck.200", "Tell which fields differ, where first, and by how much."),
        ("scr diff --relative 1e-12 --field density ck.100 ck.200", "Compare one field, with a tolerance."),
        ("scr diff --other-prefix /p/run2 ck.100 ck.100", "Compare the datasets of two runs."),
    ], &["extract", "inspect"]),
    page("run", &[
        ("scr run srun -N 4 ./heat", "Launch a program with srun, and again if it fails."),
        ("scr run --run-cmd ./first --restart-cmd ./again srun -N 4", "Launch another command if there is a checkpoint."),
        ("scr run --watch calls,file=run.log --after 10m srun -n 64 ./heat", "End it, and launch it again, when it has made no progress for 10 minutes."),
    ], &["prerun", "postrun", "halt", "watch", "watchdog", "stacks"]),
    page("stacks", &[
        ("scr stacks", "Tell what the ranks of the job do, and which of them do something else."),
        ("scr stacks --long n[0-3]", "Show the stacks and all else that is known of the ranks on these nodes."),
        ("scr stacks --pid 4711,4712", "Look at two processes of this node."),
    ], &["run", "watch", "watchdog", "get-jobstep-id"]),
    page("watch", &[
        ("scr watch 4711 --watch file=run.log,cpu --after 10m", "End process 4711 and all that it has started when it hangs."),
        ("scr watch 123.0 --watch calls --after auto --signal USR1", "Ask a job step of Slurm for a checkpoint when it hangs, then end it."),
        ("scr watch 4711 --watch file=run.log --no-kill", "Only tell what its ranks do."),
    ], &["run", "stacks", "watchdog"]),
    page("rehearse", &[
        ("scr rehearse --compare result.dat -- ./app", "Kill ranks and a node of 8 ranks on 4 nodes, and compare the file and the checkpoints with those of an undisturbed run."),
        ("scr rehearse --kill node=n2@3 --restart-ranks 6 -- ./app", "Kill one node between the third checkpoint and the next one, and go on with 6 ranks."),
        ("scr rehearse --launcher \"srun --overlap\" --compare out --compare-with \"numdiff -a 1e-9\" -- ./app", "Launch with srun, and compare with a tolerance."),
    ], &["run", "report", "stacks"]),
    page("rebuild", &[
        ("scr rebuild --dir .scr/scr.dataset.10 --dry-run", "Tell what is missing, and whether it can be rebuilt."),
        ("scr rebuild --dir .scr/scr.dataset.10 xor", "Rebuild lost files with the XOR redundancy files."),
    ], &["scavenge", "copy", "index"]),
    page("halt", &[
        ("scr halt /p/run1", "Stop the job of this prefix directory at its next checkpoint."),
        ("scr halt --checkpoints 5", "Stop after five more checkpoints."),
        ("scr halt --list --json", "Print the conditions for a program."),
    ], &["retries-halt", "run"]),
    page("print", &[
        ("scr print .scr/index.scr", "Print the index."),
        ("scr print --mode tree .scr/scr.dataset.10/summary.scr", "Print a summary, one line for each element."),
    ], &["index", "inspect"]),
    page("params", &[
        ("scr params --set", "List the parameters that are set, and where."),
        ("scr params SCR_FLUSH SCR_CACHE_SIZE", "Explain two parameters."),
    ], &["doctor"]),
    page("doctor", &[
        ("scr doctor", "Check the configuration of this directory."),
        ("scr doctor --nodes 64 --ranks 32 --size 2g", "Check whether a run of this shape fits, and what it survives."),
    ], &["params", "check-node", "clean"]),
    page("explain", &[
        ("scr explain SCR-105", "Print cause and remedy of the message with this code."),
        ("scr explain", "List all codes."),
    ], &["doctor", "params"]),
    page("import-config", &[
        ("scr import-config config.fti", "Print a configuration of SCR for one of FTI."),
    ], &["params", "doctor"]),
    page("config", &[
        ("scr config", "Print where this installation is, and all else that it knows of it."),
        ("scr config --cmake", "Print the directory in which find_package(scr) finds it."),
        ("scr config --cflags --libs", "Print the options to compile and link a program with mpicc."),
    ], &["params", "doctor"]),
    page("crc32", &[
        ("scr crc32 ck.100/rank.0", "Print the CRC32 of a file, as a summary has it."),
    ], &["print"]),
    page("copy", &[
        ("scr copy --id 10", "Copy the parts of dataset 10 on this node to the prefix directory."),
        ("scr copy --id 10 n[3-5]", "The same if nodes n3, n4 and n5 are down."),
    ], &["inspect", "scavenge", "index"]),
    page("inspect", &[
        ("scr inspect", "List the datasets in the caches of this node."),
        ("scr inspect --id 10", "Tell whether what was copied of dataset 10 can be completed."),
        ("scr inspect --fields ck.100", "List the fields of ck.100."),
    ], &["copy", "scavenge", "index", "extract", "diff"]),
    page("flush-file", &[
        ("scr flush-file --latest", "Print the id of the newest dataset."),
        ("scr flush-file --need-flush 10", "Tell by the exit status whether dataset 10 must be saved."),
        ("scr flush-file --json", "Print all that is known, for a program."),
    ], &["postrun", "index"]),
    page("nodes-file", &[
        ("scr nodes-file --dir /p/run1", "Print the number of nodes of the last run."),
    ], &["env"]),
    page("prerun", &[
        ("scr prerun --prefix /p/run1", "Prepare a prefix directory for a run."),
    ], &["run", "postrun"]),
    page("postrun", &[
        ("scr postrun", "Save the newest datasets from the caches after a run."),
        ("scr postrun --down n[3-4]", "The same if nodes n3 and n4 are down."),
    ], &["run", "scavenge", "poststage"]),
    page("poststage", &[
        ("scr poststage", "Finish the flushes that the last run has left to the transfer daemons."),
    ], &["transfer", "postrun"]),
    page("scavenge", &[
        ("scr scavenge --id 10", "Save dataset 10 from the caches of all nodes."),
        ("scr scavenge --id 10 --down n3", "The same without node n3."),
    ], &["postrun", "copy", "index"]),
    page("watchdog", &[
        ("scr watchdog --jobstep 1234.0", "End a job step that makes no checkpoints any more."),
    ], &["run", "kill-jobstep"]),
    page("retries-halt", &[
        ("scr retries-halt --dir /p/run1", "Tell by the exit status whether a run may start."),
    ], &["halt", "should-exit"]),
    page("should-exit", &[
        ("scr should-exit --min-nodes 4", "Tell by the exit status whether the job must end, as if a run needs four nodes."),
    ], &["retries-halt", "run"]),
    page("have-restart", &[
        ("scr have-restart", "Print the name of the checkpoint that a run would start from."),
    ], &["index"]),
    page("halt-cntl", &[
        ("scr halt-cntl -f .scr/halt.scr -l", "Print the conditions in a halt file."),
    ], &["halt"]),
    page("list-down-nodes", &[
        ("scr list-down-nodes", "Print the nodes of the job that must not be used."),
        ("scr list-down-nodes --reason --down n3", "Print them with the reasons; n3 is known to be down."),
    ], &["check-node", "test-runtime"]),
    page("check-node", &[
        ("scr check-node", "Check the configured directories of this node."),
        ("scr check-node --cache /dev/shm:4g", "Check that a directory can be used and has 4 GiB."),
    ], &["list-down-nodes", "doctor"]),
    page("clean", &[
        ("scr clean --dry-run", "Tell what the job of this environment has left on this node."),
        ("scr clean --all --user ann", "In an epilog, as root: remove all that ended jobs of user ann left."),
    ], &["doctor", "list-dir", "transfer"]),
    page("transfer", &[
        ("scr transfer --status", "Tell what the transfer daemon of this node does."),
        ("scr transfer --finish", "Copy what is left, and end."),
    ], &["poststage"]),
    page("test-runtime", &[
        ("scr test-runtime --joblauncher srun", "Check that the programs which SCR needs are there."),
    ], &["doctor", "list-down-nodes"]),
    page("get-jobstep-id", &[
        ("scr get-jobstep-id --launcher srun 4242", "Print the id of the job step of process 4242."),
    ], &["kill-jobstep", "watchdog"]),
    page("kill-jobstep", &[
        ("scr kill-jobstep --jobstep 1234.0", "End a job step."),
    ], &["get-jobstep-id", "watchdog"]),
    page("env", &[
        ("scr env --nodes", "Print the nodes of the job."),
        ("scr env --jobid", "Print the id of the job."),
    ], &["list-dir", "prefix"]),
    page("prefix", &[
        ("scr prefix", "Print the prefix directory."),
    ], &["env", "params"]),
    page("list-dir", &[
        ("scr list-dir cache", "Print the cache directories of the job."),
        ("scr list-dir --base control", "Print the base of the control directory."),
    ], &["env", "clean"]),
    page("glob-hosts", &[
        ("scr glob-hosts --minus n[1-9]:n[3-4]", "Print the nodes of the first list that are not in the second."),
        ("scr glob-hosts --count n[1-9]", "Count the nodes of a list."),
    ], &["hostlist"]),
    page("hostlist", &[
        ("scr hostlist --expand n[1-3]", "Print the nodes of a list one by one."),
    ], &["glob-hosts"]),
    page("log", &[
        ("scr log --prefix /p/run1 --job 4711", "Show what happened in a job."),
        ("scr log --type FLUSH_SYNC --json", "Print the flushes for a program."),
    ], &["report", "ckpt-interval", "log-event"]),
    page("report", &[
        ("scr report --prefix /p/run1", "Show what checkpoints and failures have cost."),
        ("scr report --html report.html", "Write it with pictures, for a browser."),
        ("scr report --job 4711 --json", "Print the numbers of one job for a program."),
    ], &["log", "ckpt-interval"]),
    page("log-event", &[
        ("scr log-event --type RUN_START --note run1", "Log an event of the job."),
    ], &["log", "log-transfer", "ckpt-interval"]),
    page("log-transfer", &[
        ("scr log-transfer --type FLUSH --from /dev/shm --to /p/run1 --secs 4 --bytes 1000000", "Log a transfer."),
    ], &["log-event", "ckpt-interval"]),
    page("ckpt-interval", &[
        ("scr ckpt-interval --prefix /p/run1", "Print how often to write a checkpoint, from the log of earlier runs."),
    ], &["report", "log-event"]),
    page("completions", &[
        ("eval \"$(scr completions bash)\"", "In ~/.bashrc: complete command lines of scr."),
        ("scr completions zsh --dir ~/.zfunc", "Write the scripts for all names."),
    ], &["manual"]),
    page("manual", &[
        ("scr manual index", "Print the manual page of scr index, which man -l - shows."),
        ("scr manual --dir ~/.local/share/man", "Write the pages of all names."),
    ], &["completions"]),
];
