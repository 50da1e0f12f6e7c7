//! The shortest sequence that still shows a difference, by leaving calls out.

use crate::calls::{Call, Config};
use crate::differences::Difference;
use crate::driver::{Found, compare, expect};

/// A sequence with a difference at its last call.
pub struct Shown {
    pub config: Config,
    pub calls: Vec<Call>,
    pub found: Found,
}

/// Compares a sequence with the model.
pub fn show(config: Config, calls: &[Call]) -> Option<Shown> {
    let expected = expect(config, calls, &Difference::ALL);
    let found = compare(config, calls, &expected)?;
    Some(Shown {
        config,
        calls: calls[..=found.at].to_vec(),
        found,
    })
}

impl Shown {
    /// Leaves out calls that the difference does not need: many at once, then fewer, then one by one,
    /// until every call is needed.
    pub fn shrunk(mut self) -> Self {
        let mut step = self.calls.len().next_power_of_two();
        while step > 0 {
            let mut at = 0;
            let mut any = false;
            while at < self.calls.len() {
                let mut calls = self.calls.clone();
                calls.drain(at..(at + step).min(self.calls.len()));
                match self.again(self.config, &calls) {
                    Some(shorter) => (self, any) = (shorter, true),
                    None => at += step,
                }
            }
            step = if any && step == 1 { 1 } else { step / 2 };
        }
        let one = Config {
            ranks: 1,
            ..self.config
        };
        self.again(one, &self.calls).unwrap_or(self)
    }

    /// A difference of this kind in another sequence.
    fn again(&self, config: Config, calls: &[Call]) -> Option<Shown> {
        if calls.is_empty() {
            return None;
        }
        let shown = show(config, calls)?;
        (shown.found.kind == self.found.kind).then_some(shown)
    }

    /// The sequence with the answers of the model, as `cases.txt` has it; at the end what the
    /// library does instead.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.config);
        let expected = expect(self.config, &self.calls, &Difference::ALL);
        for (call, expected) in self.calls.iter().zip(&expected) {
            text.push_str(&format!("{call} -> {}\n", expected.seen.answer));
        }
        if let Some(last) = expected.last() {
            let index = last
                .seen
                .index
                .iter()
                .map(|index| format!("index: {index}\n"));
            let cached = last
                .seen
                .cached
                .iter()
                .map(|cached| format!("cached: {cached:?}\n"));
            text.extend(index.chain(cached));
        }
        text.push_str(&format!("  but the last call {}\n", self.found.text));
        text
    }
}
