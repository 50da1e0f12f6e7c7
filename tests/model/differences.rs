//! The deliberate differences from SCR v3.1.0 that a sequence of calls can show. Each is one branch
//! of the model or a few, and has a case in `cases.txt` and a row in `docs/porting-from-scr.md`.

/// A deliberate difference. Without all of them the model answers as v3.1.0 does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// A call in the wrong state returns an error and has no effect.
    WrongState,
    /// A start that is refused opens a failed phase, in which no file has a path.
    FailedPhase,
    /// `SCR_Current` of an unknown name is an error.
    UnknownCurrent,
    /// The next id is above all that index, cache and this run know.
    Ids,
    /// A cached checkpoint that is older than the newest good one in the prefix directory is not
    /// offered, unless it is the current one.
    OldCacheLoses,
    /// The checkpoint that `SCR_Current` names is offered before those in the cache.
    CurrentFirst,
    /// `SCR_Current` accepts a checkpoint that is only in the cache.
    CurrentOfCached,
    /// A checkpoint that `SCR_Delete` has deleted is not offered.
    DeletedOffer,
    /// Rejecting a checkpoint that is not in the index leaves the index as it is, also if a dataset
    /// of that name is there.
    RejectedUnknown,
    /// A successful fetch clears `FAILED`.
    FailedCleared,
    /// A current marker that names no checkpoint is ignored.
    MarkerOfNothing,
    /// In bypass the next run finds nothing in the cache.
    BypassNotCached,
    /// `SCR_Finalize` empties a cache whose datasets are all in the prefix directory.
    EmptiedAtEnd,
    /// The dataset that a restart needs least is evicted.
    Eviction,
    /// Output that is no checkpoint leaves the cache after its flush.
    OutputLeaves,
    /// In bypass, a dataset is not offered any more when another one with its name is started.
    NameUsedAgain,
    /// A dataset whose name is that of the current checkpoint leaves the current marker.
    MarkerStays,
    /// A dataset in bypass that `SCR_Drop` has dropped is not offered.
    DroppedInBypass,
    /// A search for a checkpoint that finds none leaves the cache as it is.
    CacheStays,
    /// `SCR_Finalize` flushes the newest good checkpoint, also if the last one was invalid.
    FlushedAtEnd,
    /// Nothing is counted across `SCR_Finalize`.
    CountedAnew,
    /// The newest checkpoint is flushed before output that is no checkpoint takes its place in the cache.
    DisplacedByOutput,
    /// Without fetches the newest checkpoint that has left the cache and is in the prefix directory counts as cached.
    DisplacedCounts,
}

impl Difference {
    pub const ALL: [Difference; 23] = [
        Difference::WrongState,
        Difference::FailedPhase,
        Difference::UnknownCurrent,
        Difference::Ids,
        Difference::OldCacheLoses,
        Difference::CurrentFirst,
        Difference::CurrentOfCached,
        Difference::DeletedOffer,
        Difference::RejectedUnknown,
        Difference::FailedCleared,
        Difference::MarkerOfNothing,
        Difference::BypassNotCached,
        Difference::EmptiedAtEnd,
        Difference::Eviction,
        Difference::OutputLeaves,
        Difference::NameUsedAgain,
        Difference::MarkerStays,
        Difference::DroppedInBypass,
        Difference::CacheStays,
        Difference::FlushedAtEnd,
        Difference::CountedAnew,
        Difference::DisplacedByOutput,
        Difference::DisplacedCounts,
    ];

    /// The behaviour of v3.1.0: the left cell of its row.
    pub fn row(self) -> &'static str {
        match self {
            Difference::WrongState => {
                "a call in the wrong state, or other misuse, ends the job (`MPI_Abort`)"
            }
            Difference::FailedPhase => "a start that is refused ends the job",
            Difference::UnknownCurrent => "`SCR_Current` succeeds for an unknown name",
            Difference::Ids => {
                "after a restart ids count on from the checkpoint, or after `SCR_Current` from that \
                 one, and newer entries are overwritten as ids collide"
            }
            Difference::OldCacheLoses => "the cache always wins",
            Difference::CurrentFirst | Difference::CurrentOfCached => {
                "`SCR_Current` counts only if the cache has no checkpoint, and knows only what is \
                 in the index"
            }
            Difference::DeletedOffer => "a checkpoint that is offered and deleted is still offered",
            Difference::RejectedUnknown => {
                "rejecting a checkpoint that is only in the cache marks an older dataset of its \
                 name in the index as failed, and unsets the current marker"
            }
            Difference::FailedCleared => "`FAILED` stays after a later success",
            Difference::MarkerOfNothing => {
                "a current marker for a name that does not exist fails a fetch, and leaves entries for id -1"
            }
            Difference::BypassNotCached => {
                "in bypass, filemaps with redundancy are kept in the cache"
            }
            Difference::EmptiedAtEnd => "datasets stay in the cache after `SCR_Finalize`",
            Difference::Eviction => {
                "the oldest dataset in a store is evicted, but not one that is being flushed, and so the newest \
                 if the others are"
            }
            Difference::OutputLeaves => "output stays in the cache after its flush",
            Difference::NameUsedAgain => {
                "a dataset in bypass whose name is used again is still offered from the cache, with \
                 the files of the newer one"
            }
            Difference::MarkerStays => {
                "a dataset that takes the name of the current checkpoint moves the current marker \
                 to an older one when it is started in bypass or flushed, or unsets it"
            }
            Difference::DroppedInBypass => {
                "a dataset in bypass that is dropped is offered again, from its record in the cache"
            }
            Difference::CacheStays => {
                "a `SCR_Have_restart` that looks in the prefix directory and finds nothing empties \
                 the cache"
            }
            Difference::DisplacedByOutput => {
                "output that is no checkpoint pushes the newest checkpoint out of a full cache, though that is nowhere \
                 else"
            }
            Difference::DisplacedCounts => {
                "with `SCR_FETCH=0` a checkpoint that leaves the cache for a new dataset is not offered any more"
            }
            Difference::FlushedAtEnd => {
                "`SCR_Finalize` flushes nothing if the last checkpoint was invalid, deleted or rejected"
            }
            Difference::CountedAnew => {
                "after a second `SCR_Init` in one process the calls of `SCR_Need_checkpoint` are \
                 counted on, and ids, if the cache has a checkpoint"
            }
        }
    }
}
