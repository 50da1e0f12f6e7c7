//! Messages of a session with a name.

use crate::events::{Console, Message, Sink, Speaker};

/// Standard error, with the name of the session in each line.
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
        let mut named = message.clone();
        named.text = format!("session {}: {}", self.name, message.text);
        self.console.take(speaker, &named);
    }

    fn set_debug(&self, level: u8) {
        self.console.set_debug(level);
    }
}
