//! The events that the log records.

use EventKind::{Incident, Transfer};

/// The two kinds of lines in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// Something happened: `event=`.
    Incident,
    /// Data were moved: `xfer=`.
    Transfer,
}

/// Makes the enum, its names and the list of all events from one table.
macro_rules! events {
    ($($variant:ident $kind:ident $name:literal $text:literal;)*) => {
        /// The events. The names in the log are those of SCR v3.1.0, if SCR v3.1.0 has the event.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Event {
            $(#[doc = $text] $variant,)*
            /// An event that a script has named.
            Other(EventKind, String),
        }

        impl Event {
            /// All events that SCR itself records, each with its text for the documentation.
            pub const ALL: &[(Event, &str)] = &[$((Event::$variant, $text),)*];

            /// The name of the event in the log.
            pub fn name(&self) -> &str {
                match self {
                    $(Event::$variant => $name,)*
                    Event::Other(_, name) => name,
                }
            }

            /// The kind of the event.
            pub fn kind(&self) -> EventKind {
                match self {
                    $(Event::$variant => $kind,)*
                    Event::Other(kind, _) => *kind,
                }
            }

            /// The event with this name.
            pub fn named(kind: EventKind, name: &str) -> Event {
                match (kind, name) {
                    $(($kind, $name) => Event::$variant,)*
                    _ => Event::Other(kind, name.to_string()),
                }
            }
        }
    };
}

events! {
    JobStart Incident "JOB_START" "`scr run` begins its work in an allocation.";
    JobEnd Incident "JOB_END" "`scr run` ends. `secs`: since JOB_START.";
    RunStart Incident "RUN_START" "`scr run` launches the program. `note`: the number of the launch.";
    RunEnd Incident "RUN_END" "The program has ended. `secs`: since RUN_START.";
    Hang Incident "HANG" "A run made no progress, and is ended by `scr run` or `scr watch`. `note`: what was watched. `secs`: how long it made none.";
    NodeFail Incident "NODE_FAIL" "A node must not be used. `note`: the node, and why.";
    ScavengeStart Incident "SCAVENGE_START" "A dataset is saved from the caches after a run.";
    ScavengeEnd Incident "SCAVENGE_END" "The same has ended, with or without success.";
    Start Incident "START" "`SCR_Init`: a run begins. `procs` and `nodes`: how many there are.";
    End Incident "END" "`SCR_Finalize`: the run has ended by itself. `secs`: since START.";
    Halt Incident "HALT" "The run must stop, or has ended by itself (`SCR_FINALIZE_CALLED`). `note`: the reason.";
    ComputeStart Incident "COMPUTE_START" "The program goes on after `SCR_Init`, a checkpoint, or a restart.";
    ComputeEnd Incident "COMPUTE_END" "The program begins a checkpoint, looks for one or reads one, or ends. `secs`: since COMPUTE_START.";
    CheckpointStart Incident "CHECKPOINT_START" "A checkpoint begins. `note`: the store.";
    CheckpointEnd Incident "CHECKPOINT_END" "It is complete. `secs`: since its start, without its flush.";
    CheckpointFail Incident "CHECKPOINT_FAIL" "It could not be completed. `note`: why.";
    OutputStart Incident "OUTPUT_START" "A dataset that is no checkpoint begins. `note`: the store.";
    OutputEnd Incident "OUTPUT_END" "It is complete.";
    OutputFail Incident "OUTPUT_FAIL" "It could not be completed. `note`: why.";
    FlushStart Incident "FLUSH_START" "A dataset is copied to the prefix directory while the program waits.";
    FlushSuccess Incident "FLUSH_SUCCESS" "It is complete there.";
    FlushFail Incident "FLUSH_FAIL" "It could not be copied. `note`: why.";
    AsyncFlushStart Incident "ASYNC_FLUSH_START" "The same in the background.";
    AsyncFlushSuccess Incident "ASYNC_FLUSH_SUCCESS" "It is complete there.";
    AsyncFlushFail Incident "ASYNC_FLUSH_FAIL" "It could not be copied. `note`: why.";
    AsyncFlushCancel Incident "ASYNC_FLUSH_CANCEL" "The flush was given up, since the dataset was deleted or written over.";
    FetchStart Incident "FETCH_START" "A checkpoint is read from the prefix directory.";
    FetchSuccess Incident "FETCH_SUCCESS" "It can be used.";
    FetchFail Incident "FETCH_FAIL" "It cannot. `note`: why.";
    RebuildStart Incident "REBUILD_START" "A cached dataset is checked, moved to its ranks, and rebuilt where files are lost.";
    RebuildSuccess Incident "REBUILD_SUCCESS" "It is complete. `note`: what was done.";
    RebuildFail Incident "REBUILD_FAIL" "It cannot be brought back. `note`: why.";
    RestartSuccess Incident "RESTART_SUCCESS" "`SCR_Init` has recovered a checkpoint from the cache. `secs`: all rebuilds.";
    RestartFail Incident "RESTART_FAIL" "`SCR_Init` has tried, and recovered none.";
    RestartStart Incident "RESTART_START" "`SCR_Start_restart`: the program reads a checkpoint.";
    RestartEnd Incident "RESTART_END" "`SCR_Complete_restart`. `note`: why not, if a rank could not read its files.";
    Evict Incident "EVICT" "A dataset is deleted from the cache, to make room.";
    Quarantine Incident "QUARANTINE" "A damaged dataset is set aside in the cache.";
    Checkpoint Transfer "CHECKPOINT" "The program has written a checkpoint.";
    Output Transfer "OUTPUT" "The program has written other output.";
    Write Transfer "WRITE" "The program has written the files of a dataset: from the end of SCR_Start_output to SCR_Complete_output.";
    Encode Transfer "ENCODE" "Redundancy was made. `note`: the scheme.";
    FlushSync Transfer "FLUSH_SYNC" "A flush has copied the files of a dataset while the program waited.";
    FlushAsync Transfer "FLUSH_ASYNC" "A flush in the background has copied them.";
    Fetch Transfer "FETCH" "A fetch has copied them to the cache.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_has_its_own_name() {
        for (event, text) in Event::ALL {
            assert_eq!(Event::named(event.kind(), event.name()), *event);
            assert!(text.ends_with('.'), "{text}");
        }
        let other = Event::named(Incident, "FETCH");
        assert_eq!((other.kind(), other.name()), (Incident, "FETCH"));
        assert_eq!(other, Event::Other(Incident, "FETCH".to_string()));
    }
}
