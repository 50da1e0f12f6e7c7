//! The deliberate differences from SCR v3.1.0 that a sequence of calls can show. Each is one branch
//! of the model or a few, and has a case in `cases.txt` and a row in `docs/porting-from-scr.md`.

/// A deliberate difference. Without all of them the model answers as v3.1.0 does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// A call in the wrong state returns an error and has no effect.
    WrongState,
    /// A start that is refused opens a failed phase, in which no file has a path.
    FailedPhase,
    /// `SCR_Current`, `SCR_Drop` and `SCR_Delete` of unknown names are errors.
    UnknownNames,
    /// The next id is above all that index, cache and this run know.
    Ids,
    /// `SCR_Start_output` ends the offer of `SCR_Have_restart`.
    OfferEnds,
    /// A cached checkpoint that is older than the newest good one in the prefix directory is not
    /// offered, unless it is the current one.
    OldCacheLoses,
    /// The checkpoint that `SCR_Current` names is offered before those in the cache.
    CurrentFirst,
    /// `SCR_Current` accepts a checkpoint that is only in the cache.
    CurrentOfCached,
    /// A checkpoint that `SCR_Delete` has deleted is not offered.
    DeletedOffer,
    /// Rejecting a checkpoint that is not in the index does not move the current marker.
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
}

impl Difference {
    pub const ALL: [Difference; 17] = [
        Difference::WrongState,
        Difference::FailedPhase,
        Difference::UnknownNames,
        Difference::Ids,
        Difference::OfferEnds,
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
    ];

    /// The behaviour of v3.1.0: the left cell of its row.
    pub fn row(self) -> &'static str {
        match self {
            Difference::WrongState => {
                "a call in the wrong state, or other misuse, ends the job (`MPI_Abort`)"
            }
            Difference::FailedPhase => "a start that is refused ends the job",
            Difference::UnknownNames => {
                "`SCR_Current`, `SCR_Drop`, `SCR_Delete` succeed for unknown names"
            }
            Difference::Ids => {
                "after a restart ids count on from the checkpoint, or after `SCR_Current` from that \
                 one, and newer entries are overwritten as ids collide"
            }
            Difference::OfferEnds => {
                "an offer of `SCR_Have_restart` stays valid while the next dataset is written"
            }
            Difference::OldCacheLoses => "the cache always wins",
            Difference::CurrentFirst | Difference::CurrentOfCached => {
                "`SCR_Current` counts only if the cache has no checkpoint, and knows only what is \
                 in the index"
            }
            Difference::DeletedOffer => "a checkpoint that is offered and deleted is still offered",
            Difference::RejectedUnknown => {
                "rejecting a checkpoint that is only in the cache unsets the current marker"
            }
            Difference::FailedCleared => "`FAILED` stays after a later success",
            Difference::MarkerOfNothing => {
                "a current marker for a name that does not exist fails a fetch, and leaves entries for id -1"
            }
            Difference::BypassNotCached => {
                "in bypass, filemaps with redundancy are kept in the cache"
            }
            Difference::EmptiedAtEnd => "datasets stay in the cache after `SCR_Finalize`",
            Difference::Eviction => "the oldest dataset in a store is evicted",
            Difference::OutputLeaves => "output stays in the cache after its flush",
            Difference::NameUsedAgain => {
                "a dataset in bypass whose name is used again is still offered from the cache, with \
                 the files of the newer one"
            }
        }
    }
}
