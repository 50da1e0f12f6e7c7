//! What SCR tells in a job; and what it has said to be in the prefix directory, which the oracle holds it to.

use crate::flips::Flips;
use scr::events::{Memory, Message, Sink, Speaker};
use std::sync::{Arc, Mutex};

/// The messages of a job.
#[derive(Debug, Default)]
pub struct Messages {
    memory: Memory,
    flips: Arc<Flips>,
    /// The texts of these messages, for the oracle: reading them is no step of the simulation.
    texts: Mutex<Vec<String>>,
    /// Ids and names of datasets that are said to be flushed since the last [`Messages::take_flushed`].
    flushed: Mutex<Vec<(u64, String)>>,
}

impl Messages {
    /// For a job in which these bits flip.
    pub fn new(flips: Arc<Flips>) -> Self {
        Messages {
            flips,
            ..Messages::default()
        }
    }

    /// All messages so far, one line each.
    pub fn lines(&self) -> Vec<String> {
        self.memory.lines()
    }

    /// How many messages there are.
    pub fn count(&self) -> usize {
        self.texts.lock().unwrap().len()
    }

    /// The texts of those after the first `count`.
    pub fn after(&self, count: usize) -> Vec<String> {
        let texts = self.texts.lock().unwrap();
        texts.get(count..).unwrap_or_default().to_vec()
    }

    /// What is said to be flushed since the last call.
    pub fn take_flushed(&self) -> Vec<(u64, String)> {
        std::mem::take(&mut self.flushed.lock().unwrap())
    }
}

impl Sink for Messages {
    fn take(&self, speaker: &Speaker, message: &Message) {
        if message.text.contains("(SCR-323)") {
            assert!(self.flips.tell(), "a false alarm: {}", message.text);
        }
        self.flushed.lock().unwrap().extend(flushed(&message.text));
        self.texts.lock().unwrap().push(message.text.clone());
        self.memory.take(speaker, message);
    }
}

/// The dataset of "dataset 3 (ck.0.1) was flushed to /sim/shared/prefix: ...".
fn flushed(text: &str) -> Option<(u64, String)> {
    let (id, rest) = text.strip_prefix("dataset ")?.split_once(" (")?;
    let (name, _) = rest.split_once(") was flushed to ")?;
    Some((id.parse().ok()?, name.to_string()))
}

#[test]
fn a_dataset_is_told_from_the_message() {
    let text = "dataset 3 (ck.0.1) was flushed to /p in the background: 4 files";
    assert_eq!(flushed(text), Some((3, "ck.0.1".to_string())));
    assert_eq!(flushed("dataset 3 (ck.0.1) is complete"), None);
}
