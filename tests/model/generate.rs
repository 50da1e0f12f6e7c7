//! Random sequences: mostly correct programs, sometimes wrong ones, and runs that end.

use crate::calls::{Call, Config, Valid};
use crate::differences::Difference;
use crate::model::Model;
use scr::session::state::State;

/// Pseudo-random numbers from a seed (SplitMix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    /// True with this probability in percent.
    fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

/// A configuration and a sequence of calls.
pub fn sequence(seed: u64) -> (Config, Vec<Call>) {
    let mut random = Random::new(seed);
    let config = Config {
        ranks: random.one_of(&[2, 2, 2, 2, 2, 2, 1, 3]),
        bypass: random.percent(50),
        size: random.one_of(&[1, 2]),
        flush: random.one_of(&[0, 1, 2]),
        fetch: random.percent(85),
        interval: random.one_of(&[0, 2]),
    };
    let length = 6 + random.below(22);
    let mut calls = Vec::new();
    // The next call depends on the state after the calls before.
    let mut model = Model::new(config, &Difference::ALL);
    while calls.len() < length {
        for call in some(&mut random, &model, config) {
            model.step(&call);
            calls.push(call);
        }
    }
    (config, calls)
}

/// One call, or a few that belong together.
fn some(random: &mut Random, model: &Model, config: Config) -> Vec<Call> {
    let valid = |random: &mut Random, percent| {
        if random.percent(percent) {
            Valid::OnAll
        } else {
            Valid::NotOn(random.below(config.ranks))
        }
    };
    if random.percent(6) {
        return vec![any(random, config)];
    }
    match model.state {
        State::Uninit | State::FailedEarly => {
            vec![random.one_of(&[Call::Init, Call::InitAgain])]
        }
        State::Output | State::Checkpoint if random.percent(20) => vec![match random.below(4) {
            0 => Call::Kill,
            1 => Call::Missing(random.below(config.ranks)),
            _ => Call::File,
        }],
        State::Output => vec![Call::CompleteOutput(valid(random, 75))],
        State::Checkpoint => vec![Call::CompleteCheckpoint(valid(random, 75))],
        State::Restart if random.percent(15) => vec![Call::File],
        State::Restart => vec![Call::CompleteRestart(valid(random, 60))],
        State::FailedOutput if random.percent(30) => vec![Call::CompleteOutput(Valid::OnAll)],
        State::FailedRestart if random.percent(30) => vec![Call::CompleteRestart(Valid::OnAll)],
        State::FailedOutput | State::FailedCheckpoint | State::FailedRestart
            if random.percent(20) =>
        {
            vec![Call::File]
        }
        _ => match random.below(100) {
            0..42 => dataset(random, config),
            42..62 => vec![
                Call::HaveRestart,
                Call::StartRestart,
                Call::File,
                Call::CompleteRestart(valid(random, 60)),
            ],
            62..70 => vec![Call::HaveRestart],
            70..75 => vec![start(random)],
            75..76 => vec![refused(random, config)],
            76..80 => vec![Call::Current(name(random))],
            80..84 => vec![Call::Drop(name(random))],
            84..87 => vec![Call::Delete(name(random))],
            87..89 => vec![Call::Finalize, Call::Init],
            89..91 => vec![Call::Finalize, Call::InitAgain],
            91..96 => vec![Call::Kill],
            96..98 => vec![Call::Lose],
            98..99 => vec![Call::NeedCheckpoint],
            _ => vec![Call::ShouldExit],
        },
    }
}

/// The calls from start to complete.
fn dataset(random: &mut Random, config: Config) -> Vec<Call> {
    let start = start(random);
    let valid = if random.percent(75) {
        Valid::OnAll
    } else {
        Valid::NotOn(random.below(config.ranks))
    };
    let complete = match start {
        Call::StartCheckpoint => Call::CompleteCheckpoint(valid),
        _ => Call::CompleteOutput(valid),
    };
    if random.percent(92) {
        vec![start, Call::File, complete]
    } else {
        vec![start, complete]
    }
}

fn start(random: &mut Random) -> Call {
    if random.percent(15) {
        return Call::StartCheckpoint;
    }
    let name =
        (!random.percent(12)).then(|| random.one_of(&["a", "a", "b", "b", "c", "d"]).to_string());
    let (checkpoint, output) = match random.below(100) {
        0..75 => (true, false),
        75..85 => (true, true),
        85..97 => (false, true),
        _ => (false, false),
    };
    Call::StartOutput {
        name,
        checkpoint,
        output,
    }
}

fn refused(random: &mut Random, config: Config) -> Call {
    Call::StartRefused {
        name: new_name(random),
        on: random.below(config.ranks),
    }
}

/// A name for a dataset, often one that was used before.
fn new_name(random: &mut Random) -> Option<String> {
    let names = ["a", "a", "b", "b", "c", "d"];
    (!random.percent(12)).then(|| random.one_of(&names).to_string())
}

/// A name that a dataset may have.
fn name(random: &mut Random) -> String {
    let names = [
        "a",
        "a",
        "a",
        "b",
        "b",
        "b",
        "c",
        "d",
        "scr.dataset.1",
        "scr.dataset.2",
        "scr.dataset.3",
        "unknown",
    ];
    random.one_of(&names).to_string()
}

/// Any call, in any state.
fn any(random: &mut Random, config: Config) -> Call {
    let valid = if random.percent(50) {
        Valid::OnAll
    } else {
        Valid::NotOn(random.below(config.ranks))
    };
    let calls = [
        Call::Init,
        start(random),
        refused(random, config),
        Call::StartCheckpoint,
        Call::CompleteOutput(valid),
        Call::CompleteCheckpoint(valid),
        Call::CompleteRestart(valid),
        Call::HaveRestart,
        Call::StartRestart,
        Call::Current(name(random)),
        Call::Drop(name(random)),
        Call::Delete(name(random)),
        Call::NeedCheckpoint,
        Call::ShouldExit,
        Call::Finalize,
        Call::Kill,
        Call::File,
    ];
    random.one_of(&calls)
}
