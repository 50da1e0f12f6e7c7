//! What must hold, whatever happens: one list, with a number for each promise. `docs/failure-model.md` is
//! the specification.

/// A promise to the program or to its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    Finished,
    Bytes,
    SameAnswers,
    Newest,
    Saved,
    NotGivenUp,
    GoneForGood,
    Chosen,
    Announced,
    Reason,
    Refused,
    Ids,
    OfferEnds,
    OtherRanks,
    Output,
    Ends,
    Tidy,
    Roots,
    Command,
    Index,
    Postrun,
    Halt,
    Clean,
    Flushed,
    Memory,
    Proven,
}

impl Promise {
    /// True for what holds whatever is damaged.
    pub const fn is_safety(self) -> bool {
        matches!(
            self,
            Promise::Finished
                | Promise::Bytes
                | Promise::SameAnswers
                | Promise::Ends
                | Promise::Roots
                | Promise::Proven
        )
    }

    /// Its number and its words.
    pub const fn text(self) -> &'static str {
        match self {
            Promise::Finished => "1: what is offered is a checkpoint that all ranks had finished",
            Promise::Bytes => {
                "2: what is read is byte for byte what was written, all of it at one time"
            }
            Promise::SameAnswers => "3: a call answers the same on all ranks",
            Promise::Newest => {
                "4: nothing older than the newest checkpoint that is promised is offered"
            }
            Promise::Saved => {
                "5: what was reported as saved, or said to be flushed, survives the loss of all nodes"
            }
            Promise::NotGivenUp => {
                "6: an error of a file system does not cost the newest checkpoint"
            }
            Promise::GoneForGood => "7: what was deleted or rejected is not offered again",
            Promise::Chosen => "8: the checkpoint that SCR_Current has named is offered",
            Promise::Announced => "9: a start from the beginning is announced",
            Promise::Reason => "10: no call fails without a reason",
            Promise::Refused => "11: a dataset that a rank calls bad is not complete",
            Promise::Ids => "12: ids of datasets only rise",
            Promise::OfferEnds => "13: an offer ends with the start of the next dataset",
            Promise::OtherRanks => {
                "14: a checkpoint of another number of ranks is offered only if it may be"
            }
            Promise::Output => "15: output that was reported as saved is in the prefix directory",
            Promise::Ends => {
                "16: each run ends: no panic, no wait for ever, no hour of the virtual clock"
            }
            Promise::Tidy => "17: two undisturbed runs leave nothing that belongs to nothing",
            Promise::Roots => "18: nothing outside of SCR's directories is changed",
            Promise::Command => "19: a daemon or a command fails only for a reason",
            Promise::Index => "20: what the index calls complete has all its files",
            Promise::Postrun => "21: scr postrun saves what a restart would have offered",
            Promise::Halt => "22: SCR_Should_exit says so after scr halt",
            Promise::Clean => "23: scr clean leaves nothing of the job",
            Promise::Flushed => {
                "24: of as many checkpoints as SCR_FLUSH says one survives the loss of all nodes"
            }
            Promise::Memory => "25: a restore that is refused changes no memory",
            Promise::Proven => {
                "26: redundancy in which a bit flips before it counts is told, and no other"
            }
        }
    }
}
