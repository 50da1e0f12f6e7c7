//! The state of a cached dataset in the prefix directory.

use serde::{Deserialize, Serialize};

/// The state of a cached dataset in the prefix directory, or of its flush. The same on all ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(in crate::session) enum PrefixState {
    /// The prefix directory has nothing of the dataset, and no flush of it has failed.
    #[default]
    Absent,
    /// The flush of the dataset has failed, or did not come to its end in an earlier run. The flush is made again.
    FlushFailed,
    /// The dataset is being flushed in the background.
    Flushing,
    /// The dataset is being flushed in the background again, since the flush before has failed.
    FlushingAgain,
    /// The prefix directory has all of the dataset.
    Saved,
    /// The prefix directory had all of the dataset, and deleted it as older than the newest
    /// `SCR_PREFIX_SIZE` checkpoints.
    LeftWindow,
    /// The prefix directory has all of the dataset, but the user has dropped it from the index: a
    /// restart does not find it.
    Dropped,
    /// The name or the id of the dataset belongs to a newer dataset there. The dataset is not flushed any more.
    Superseded,
}

impl PrefixState {
    /// True if a restart finds it in the prefix directory.
    pub fn is_saved(self) -> bool {
        self == PrefixState::Saved
    }

    /// True if its files are in the prefix directory, in the index or not.
    pub fn has_files(self) -> bool {
        matches!(self, PrefixState::Saved | PrefixState::Dropped)
    }

    /// True during a background flush of the dataset.
    pub fn is_flushing(self) -> bool {
        matches!(self, PrefixState::Flushing | PrefixState::FlushingAgain)
    }

    /// True if the last flush of the dataset has failed.
    pub fn flush_failed(self) -> bool {
        matches!(self, PrefixState::FlushFailed | PrefixState::FlushingAgain)
    }

    /// True if the index must not have the dataset: then it is not flushed again.
    pub fn is_given_up(self) -> bool {
        matches!(self, PrefixState::Dropped | PrefixState::Superseded)
    }

    /// A background flush of the dataset begins.
    pub fn begin_flush(&mut self) {
        *self = if self.flush_failed() {
            PrefixState::FlushingAgain
        } else {
            PrefixState::Flushing
        };
    }

    /// The background flush of the dataset has ended, with whatever result.
    pub fn end_flush(&mut self) {
        *self = match *self {
            PrefixState::FlushingAgain => PrefixState::FlushFailed,
            PrefixState::Flushing => PrefixState::Absent,
            other => other,
        };
    }

    /// Notes that the flush of the dataset has failed.
    pub fn fail_flush(&mut self) {
        if !self.is_given_up() {
            *self = PrefixState::FlushFailed;
        }
    }

    /// The index does not have its name any more: the user has dropped it.
    pub fn drop_name(&mut self) {
        match self {
            PrefixState::Saved => *self = PrefixState::Dropped,
            // Nothing has the name that it could write over.
            PrefixState::Superseded => *self = PrefixState::Absent,
            _ => {}
        }
    }

    /// Another dataset of the same name replaces the files; `newer` is true if that dataset is
    /// newer.
    pub fn lose_name(&mut self, newer: bool) {
        *self = match *self {
            PrefixState::Saved | PrefixState::Dropped => PrefixState::Dropped,
            _ if newer => PrefixState::Superseded,
            PrefixState::Superseded => PrefixState::Absent,
            other => other,
        };
    }

    /// The dataset was deleted from the prefix directory, as older than the checkpoints that are
    /// kept there.
    pub fn leave_window(&mut self) {
        if self.has_files() {
            *self = PrefixState::LeftWindow;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PrefixState::{self, *};

    const ALL: [PrefixState; 8] = [
        Absent,
        FlushFailed,
        Flushing,
        FlushingAgain,
        Saved,
        LeftWindow,
        Dropped,
        Superseded,
    ];

    fn after(change: impl Fn(&mut PrefixState)) -> [PrefixState; 8] {
        ALL.map(|mut state| {
            change(&mut state);
            state
        })
    }

    #[test]
    fn a_flush_that_ends_without_success_leaves_what_was_before() {
        let mut state = FlushFailed;
        state.begin_flush();
        assert!(state.is_flushing() && state.flush_failed());
        state.end_flush();
        assert_eq!(state, FlushFailed);
        state = Absent;
        state.begin_flush();
        assert!(state.is_flushing() && !state.flush_failed());
        state.end_flush();
        assert_eq!(state, Absent);
    }

    #[test]
    fn each_change_of_the_prefix_directory_has_one_meaning_in_each_state() {
        let dropped = after(PrefixState::drop_name);
        assert_eq!(
            dropped,
            [
                Absent,
                FlushFailed,
                Flushing,
                FlushingAgain,
                Dropped,
                LeftWindow,
                Dropped,
                Absent
            ]
        );
        let replaced = after(|state| state.lose_name(true));
        assert_eq!(
            replaced,
            [
                Superseded, Superseded, Superseded, Superseded, Dropped, Superseded, Dropped,
                Superseded
            ]
        );
        let deleted = after(PrefixState::leave_window);
        assert_eq!(
            deleted,
            [
                Absent,
                FlushFailed,
                Flushing,
                FlushingAgain,
                LeftWindow,
                LeftWindow,
                LeftWindow,
                Superseded
            ]
        );
        let failed = after(PrefixState::fail_flush);
        assert_eq!(failed[6..], [Dropped, Superseded]);
        assert!(failed[..6].iter().all(|state| *state == FlushFailed));
    }
}
