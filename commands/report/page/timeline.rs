//! The picture of all runs, one below the other.

use super::svg::{Scale, WIDTH, label, line, picture, place, rectangle, text};
use crate::report::findings::Findings;
use crate::report::run::{Activity, Ending, Run};
use crate::report::words::{clock, duration};

/// Most runs in the picture. If there are more, the newest are shown.
pub(super) const MOST_RUNS: usize = 40;

const LEFT: f64 = 190.0;
const RIGHT: f64 = 24.0;
const ROW: f64 = 34.0;
const BAR: f64 = 20.0;
const STRIP: f64 = 4.0;
/// Number of samples in a column. A column shows each activity in proportion to its samples.
const SAMPLES: usize = 10;

/// The classes in a bar, from bottom to top.
const STACK: [&str; 6] = [
    "restart",
    "flush",
    "checkpoint",
    "output",
    "other",
    "compute",
];

pub(super) fn timeline(findings: &Findings) -> String {
    let first = findings.runs.len().saturating_sub(MOST_RUNS);
    let shown = findings.runs.iter().enumerate().skip(first);
    let longest = shown.clone().map(|(_, run)| run.end - run.begin);
    let longest = longest.fold(1.0, f64::max);
    let scale = Scale::of_time(longest, 9.0);
    let width = WIDTH - LEFT - RIGHT;
    let count = findings.runs.len() - first;
    let bottom = 8.0 + count as f64 * ROW;
    let mut inside = String::new();
    for (value, words) in scale.marks() {
        let x = LEFT + value / longest * width;
        inside += &line("grid", (x, 4.0), (x, bottom));
        inside += &label(x, bottom + 16.0, "middle", &words);
    }
    let title = format!("time since the beginning of the run ({})", scale.unit);
    inside += &label(LEFT + width / 2.0, bottom + 36.0, "middle", &title);
    let step = if count > 10 { 2.0 } else { 1.0 };
    for (row, (number, run)) in shown.enumerate() {
        let top = 8.0 + row as f64 * ROW;
        let words = format!("{} · {}", number + 1, clock(run.begin));
        inside += &label(LEFT - 10.0, top + BAR / 2.0 + 4.0, "end", &words);
        inside += &bar(run, (top, longest / width, step));
    }
    picture(
        bottom + 46.0,
        "Timeline of the runs: computation, checkpoints, flushes, restarts and lost work",
        &inside,
    )
}

/// The name of an activity in classes.
fn class(activity: Activity) -> &'static str {
    match activity {
        Activity::Compute => "compute",
        Activity::Output => "output",
        Activity::Checkpoint => "checkpoint",
        Activity::Flush => "flush",
        Activity::Rebuild | Activity::Fetch | Activity::Read => "restart",
    }
}

/// The bar of a run. `seconds` is how many a unit of width has; `step` is the least width of a column.
fn bar(run: &Run, (top, seconds, step): (f64, f64, f64)) -> String {
    let length = (run.end - run.begin).max(0.0) / seconds;
    let count = (length / step).floor().max(1.0);
    let step = length.max(0.5) / count;
    let count = count as usize;
    let mut columns = Columns::new(top, step);
    for part in shares(run, count) {
        columns.add(part);
    }
    let mut out = columns.paths(run);
    let sample = |time: f64| ((time - run.begin) / seconds / step * SAMPLES as f64).max(0.0);
    let mut behind = vec![""; count * SAMPLES];
    for flush in &run.background {
        paint(
            &mut behind,
            (sample(flush.begin), sample(flush.end)),
            "behind",
        );
    }
    out += &strip(run, &behind, (top + BAR + 1.0, step));
    for (begin, end) in &run.lost {
        let x = LEFT + (begin - run.begin) / seconds;
        let width = ((end - begin) / seconds).max(1.5);
        let about = format!("lost work: {}", duration(end - begin));
        out += &rectangle("lost", [x, top, width, BAR], &about);
    }
    if run.ending.is_some_and(Ending::is_failure) {
        let (x, y) = (LEFT + length + 9.0, top + BAR / 2.0);
        let (left, right, up, down) = (x - 5.0, x + 5.0, y - 5.0, y + 5.0);
        let [left, right, up, down] = [left, right, up, down].map(place);
        out += &format!(
            "<path class=\"failure\" d=\"M{left} {up}L{right} {down}M{left} {down}L{right} {up}\">\
             <title>{}</title></path>",
            text(&format!("killed at {}", clock(run.end)))
        );
    }
    out
}

/// Number of samples of each class, for each column of a run. A phase that is too short for a sample is
/// carried to the next column, so that a class has its share of the bar.
fn shares(run: &Run, count: usize) -> Vec<[usize; STACK.len()]> {
    let width = (run.end - run.begin).max(0.0) / count as f64;
    let other = STACK
        .iter()
        .position(|class| *class == "other")
        .unwrap_or(0);
    let mut columns = vec![[0.0; STACK.len()]; count];
    for phase in run.phases.iter().filter(|_| width > 0.0) {
        let class = class(phase.activity);
        let Some(class) = STACK.iter().position(|name| *name == class) else {
            continue;
        };
        let (begin, end) = (phase.begin - run.begin, phase.end - run.begin);
        let first = (begin / width).floor().max(0.0) as usize;
        // Phases inside of this one count for themselves.
        let own = phase.seconds / (end - begin).max(f64::MIN_POSITIVE);
        for (number, column) in columns.iter_mut().enumerate().skip(first) {
            let left = number as f64 * width;
            let part = end.min(left + width) - begin.max(left);
            if part <= 0.0 {
                break;
            }
            column[class] += part * own / width * SAMPLES as f64;
        }
    }
    let mut carried = [0.0; STACK.len()];
    let mut whole = |column: [f64; STACK.len()]| {
        let known: f64 = column.iter().sum();
        // Times of whole seconds may overlap.
        let fits = (SAMPLES as f64 / known.max(f64::MIN_POSITIVE)).min(1.0);
        let mut wanted = column.map(|samples| samples * fits);
        wanted[other] += SAMPLES as f64 - known * fits;
        for (wanted, carried) in wanted.iter_mut().zip(carried) {
            *wanted += carried;
        }
        let mut given = wanted.map(|samples| samples.floor().max(0.0) as usize);
        while given.iter().sum::<usize>() < SAMPLES {
            let left = |at: &usize| wanted[*at] - given[*at] as f64;
            let most = (0..STACK.len()).max_by(|a, b| left(a).total_cmp(&left(b)));
            given[most.unwrap_or(other)] += 1;
        }
        while given.iter().sum::<usize>() > SAMPLES {
            let most = (0..STACK.len()).max_by_key(|at| given[*at]);
            given[most.unwrap_or(other)] -= 1;
        }
        for at in 0..STACK.len() {
            carried[at] = wanted[at] - given[at] as f64;
        }
        given
    };
    columns.into_iter().map(&mut whole).collect()
}

/// Paints at least one sample.
fn paint<'a>(samples: &mut [&'a str], (begin, end): (f64, f64), class: &'a str) {
    let first = (begin.round() as usize).min(samples.len().saturating_sub(1));
    let last = (end.round() as usize).clamp(first + 1, samples.len().max(first + 1));
    if let Some(part) = samples.get_mut(first..last.min(samples.len())) {
        part.fill(class);
    }
}

/// The columns of a bar, as a path for each class.
struct Columns {
    top: f64,
    step: f64,
    number: usize,
    paths: [String; STACK.len()],
    /// For each class: the place and the size of its last rectangle.
    last: [Option<(usize, usize, usize)>; STACK.len()],
}

impl Columns {
    fn new(top: f64, step: f64) -> Self {
        Columns {
            top,
            step,
            number: 0,
            paths: Default::default(),
            last: Default::default(),
        }
    }

    fn add(&mut self, samples: [usize; STACK.len()]) {
        let mut below = 0;
        for (at, count) in samples.into_iter().enumerate() {
            let stands = (count > 0).then_some((below, count));
            let before = self.last[at].map(|(_, low, high)| (low, high));
            if before != stands {
                self.flush(at);
                self.last[at] = stands.map(|(low, high)| (self.number, low, high));
            }
            below += count;
        }
        self.number += 1;
    }

    /// Ends the last rectangle of a class.
    fn flush(&mut self, at: usize) {
        let Some((begin, low, count)) = self.last[at].take() else {
            return;
        };
        let unit = BAR / SAMPLES as f64;
        let x = place(LEFT + begin as f64 * self.step);
        let y = place(self.top + BAR - (low + count) as f64 * unit);
        let (width, height) = (
            (self.number - begin) as f64 * self.step,
            count as f64 * unit,
        );
        let (width, height) = (place(width), place(height));
        self.paths[at] += &format!("M{x} {y}h{width}v{height}h-{width}z");
    }

    fn paths(mut self, run: &Run) -> String {
        let mut out = String::new();
        for (at, class_name) in STACK.iter().enumerate() {
            self.flush(at);
            if self.paths[at].is_empty() {
                continue;
            }
            let of_class = run
                .phases
                .iter()
                .filter(|phase| class(phase.activity) == *class_name);
            let seconds: f64 = of_class.map(|phase| phase.seconds).sum();
            let about = match *class_name {
                "other" => "other time in SCR".to_string(),
                name => format!("{name}: {} in this run", duration(seconds)),
            };
            out += &format!(
                "<path class=\"{class_name}\" d=\"{}\"><title>{}</title></path>",
                self.paths[at],
                text(&about)
            );
        }
        out
    }
}

/// The flushes in the background, below the bar.
fn strip(run: &Run, samples: &[&str], (top, step): (f64, f64)) -> String {
    let mut path = String::new();
    let unit = step / SAMPLES as f64;
    let mut begin = None;
    for (at, sample) in samples.iter().chain([&""]).enumerate() {
        match (begin, sample.is_empty()) {
            (None, false) => begin = Some(at),
            (Some(from), true) => {
                let x = place(LEFT + from as f64 * unit);
                let width = place(((at - from) as f64 * unit).max(0.5));
                path += &format!("M{x} {}h{width}v{STRIP}h-{width}z", place(top));
                begin = None;
            }
            _ => {}
        }
    }
    if path.is_empty() {
        return path;
    }
    let seconds: f64 = run.background.iter().map(|flush| flush.seconds).sum();
    let about = text(&format!("flushes in the background: {}", duration(seconds)));
    format!("<path class=\"behind\" d=\"{path}\"><title>{about}</title></path>")
}
