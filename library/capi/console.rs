//! Messages of a session, in the words of the program's language.

use crate::events::{Console, Message, Sink, Speaker};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The program lists its state in Fortran.
static IN_FORTRAN: AtomicBool = AtomicBool::new(false);

/// Names of the Fortran module that messages have in place of the names of C. Of two names with the same beginning,
/// the longer comes first.
const FORTRAN: [(&str, &str); 26] = [
    (
        "set SCR_KEEP_IF_MISSING for it",
        "list it with missing=\"keep\"",
    ),
    ("SCR_KEEP_IF_MISSING", "missing=\"keep\""),
    ("SCR_CONVERT", "kind=\"convert\""),
    ("SCR_SHARED", "copies=\"equal\""),
    ("SCR_ON_DEVICE", "where=\"device\""),
    ("SCR_ON_HOST", "where=\"host\""),
    ("SCR_Stream", "s%stream"),
    ("SCR_Copy", "s%copy"),
    ("SCR_Checkpoint_if_needed", "scr_checkpoint_if_needed"),
    ("SCR_Checkpoint", "scr_checkpoint"),
    ("SCR_Restore", "scr_restore"),
    ("SCR_Field_by_index", "s%field"),
    ("SCR_Field", "s%field"),
    ("SCR_Index", "s%index"),
    ("SCR_Bag_by_key", "s%bag"),
    ("SCR_Bag", "s%bag"),
    ("SCR_Same", "s%same"),
    ("SCR_Count", "s%count"),
    ("SCR_From_rank", "s%from_rank"),
    ("SCR_Gone", "s%gone"),
    ("SCR_Begin_list", "s%begin_list"),
    ("SCR_End_list", "s%end_list"),
    ("SCR_Stored_ranks", "s%stored_ranks"),
    ("SCR_Stored", "s%stored"),
    ("SCR_State_file", "s%file"),
    ("SCR_Delete", "scr_delete"),
];

/// From now on messages have the names of the Fortran module.
pub(super) fn speak_fortran() {
    IN_FORTRAN.store(true, Relaxed);
}

fn in_fortran(text: &str) -> String {
    let replace = |text: String, (c, fortran): &(&str, &str)| text.replace(c, fortran);
    FORTRAN.iter().fold(text.to_string(), replace)
}

/// Standard error, with the name of the session in each line, if it has one.
pub(super) struct NamedConsole {
    name: String,
    console: Console,
}

impl NamedConsole {
    pub fn new(name: &str) -> Self {
        NamedConsole {
            name: name.to_string(),
            console: Console::default(),
        }
    }
}

impl Sink for NamedConsole {
    fn take(&self, speaker: &Speaker, message: &Message) {
        let mut told = message.clone();
        if IN_FORTRAN.load(Relaxed) {
            told.text = in_fortran(&told.text);
        }
        if !self.name.is_empty() {
            told.text = format!("session {}: {}", self.name, told.text);
        }
        self.console.take(speaker, &told);
    }

    fn set_debug(&self, level: u8) {
        self.console.set_debug(level);
    }
}

#[cfg(test)]
mod tests {
    use super::in_fortran;

    #[test]
    fn a_program_in_fortran_reads_the_names_of_its_module() {
        let c = "SCR_Restore: field \"x\" is not in the checkpoint; if it may be missing, set SCR_KEEP_IF_MISSING for it; \
                 SCR_CONVERT converts it; SCR_Stored_ranks and SCR_START_ANEW=1";
        let told = "scr_restore: field \"x\" is not in the checkpoint; if it may be missing, list it with missing=\"keep\"; \
                    kind=\"convert\" converts it; s%stored_ranks and SCR_START_ANEW=1";
        assert_eq!(in_fortran(c), told);
    }
}
