//! Errors that come again: a program that goes on after a checkpoint that has failed has the same error the next time.

use crate::Error;
use crate::session::state::Call;

/// The reason why a call that writes or restores fields has failed last, if one has.
#[derive(Default)]
pub(super) struct LastFailure(Option<(Call, String)>);

impl LastFailure {
    /// The text of an error. If such a call had the same error the last time, the message only says that.
    pub fn text(&mut self, call: Call, error: &Error) -> String {
        let text = error.to_string();
        if !matches!(call, Call::Checkpoint | Call::Restore) {
            return text;
        }
        // Each dataset has another number.
        let (subject, reason) = match error {
            Error::Dataset { id, name, .. } => {
                let named = format!("dataset {id} ({name})");
                let reason = text.replace(&named, "");
                (named, reason)
            }
            Error::Usage { .. } => (call.name().to_string(), text.clone()),
            _ => return text,
        };
        let failed = Some((call, reason));
        if self.0 == failed {
            return format!("{subject}: has failed again, for the same reason as before");
        }
        self.0 = failed;
        text
    }
}

#[cfg(test)]
mod tests {
    use super::LastFailure;
    use crate::Error;
    use crate::session::state::Call;

    #[test]
    fn an_error_is_told_in_full_once() {
        let mut last = LastFailure::default();
        let mut told = |call, id: u64, what: &str| {
            let what = format!("is dropped: dataset {id} (ck): {what}");
            last.text(call, &Error::dataset(id, "ck".to_string(), what))
        };
        assert!(told(Call::Checkpoint, 1, "a hole").ends_with("a hole"));
        let again = "dataset 2 (ck): has failed again, for the same reason as before";
        assert_eq!(told(Call::Checkpoint, 2, "a hole"), again);
        assert!(told(Call::Checkpoint, 3, "an overlap").ends_with("an overlap"));
        assert!(told(Call::CompleteOutput, 4, "an overlap").ends_with("an overlap"));
    }
}
