//! The share of the time that checkpoints and failures take, for each interval.

use super::svg::{Scale, WIDTH, label, line, picture, place, text};
use crate::report::estimate::Estimate;
use crate::report::words::{duration, percent};

const LEFT: f64 = 70.0;
const RIGHT: f64 = 24.0;
const HEIGHT: f64 = 190.0;
const TOP: f64 = 44.0;
const POINTS: usize = 120;

/// The curve with marks for both formulas and the present interval; empty without an estimate.
pub(super) fn curve(estimate: &Estimate) -> String {
    let [young, daly] = estimate.advice.map(|advice| advice.best);
    let (Some(young), Some(daly)) = (young, daly) else {
        return String::new();
    };
    let mut marks = vec![("by Young", young), ("by Daly", daly)];
    marks.extend(estimate.present.map(|present| ("present", present)));
    let shortest = marks
        .iter()
        .map(|mark| mark.1)
        .fold(f64::INFINITY, f64::min)
        / 4.0;
    let longest = marks.iter().map(|mark| mark.1).fold(0.0, f64::max) * 4.0;
    let span = (longest / shortest).ln();
    if !(shortest > 0.0 && span.is_finite()) {
        return String::new();
    }
    let width = WIDTH - LEFT - RIGHT;
    let bottom = TOP + HEIGHT;
    let at = |interval: f64| LEFT + (interval / shortest).ln() / span * width;
    let loss = |interval: f64| estimate.expected_loss(interval).unwrap_or(0.0);
    let points = (0..=POINTS).map(|number| shortest * (span * number as f64 / POINTS as f64).exp());
    let points: Vec<(f64, f64)> = points.map(|interval| (interval, loss(interval))).collect();
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let height = |loss: f64| bottom - loss / most * HEIGHT;

    let title = "time that checkpoints and lost work take, by the assumptions (% of all)";
    let mut inside = label(LEFT, 14.0, "start", title);
    for (value, words) in Scale::of_share(most, 5.0).marks() {
        let y = height(value);
        inside += &line("grid", (LEFT, y), (WIDTH - RIGHT, y));
        inside += &label(LEFT - 8.0, y + 4.0, "end", &words);
    }
    for interval in round_times(shortest, longest) {
        let x = at(interval);
        inside += &line("grid", (x, TOP), (x, bottom + 4.0));
        inside += &label(x, bottom + 18.0, "middle", &duration(interval));
    }
    let middle = LEFT + width / 2.0;
    let words = "computation between two checkpoints (logarithmic)";
    inside += &label(middle, bottom + 38.0, "middle", words);
    let path: Vec<String> = points
        .iter()
        .map(|(interval, loss)| format!("{} {}", place(at(*interval)), place(height(*loss))))
        .collect();
    inside += &format!("<path class=\"curve\" d=\"M{}\"/>", path.join("L"));
    for (number, (name, interval)) in marks.iter().enumerate() {
        let (x, y) = (at(*interval), height(loss(*interval)));
        let class = ["young", "daly", "present"]
            .get(number)
            .copied()
            .unwrap_or("present");
        let words = format!(
            "{name}: {}, {}",
            duration(*interval),
            percent(loss(*interval))
        );
        let [x, y] = [x, y].map(place);
        // Both formulas often give nearly the same.
        let radius = if number == 0 { 8 } else { 5 };
        inside += &format!(
            "<circle class=\"mark {class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"><title>{}</title></circle>",
            text(&words)
        );
        // The names are in one line above the curve, as marks may be near each other.
        let left = LEFT + number as f64 * 270.0;
        inside += &format!(
            "<circle class=\"mark {class}\" cx=\"{}\" cy=\"30\" r=\"5\"/>",
            place(left + 6.0)
        );
        inside += &label(left + 18.0, 34.0, "start", &words);
    }
    picture(bottom + 48.0, title, &inside)
}

/// Some times between the limits, for the marks of a logarithmic axis.
fn round_times(shortest: f64, longest: f64) -> Vec<f64> {
    let mut times = Vec::new();
    for unit in [0.001, 0.01, 0.1, 1.0, 60.0, 3600.0, 86_400.0, 864_000.0] {
        let factors: &[f64] = match unit {
            unit if unit < 1.0 => &[1.0, 2.0, 5.0],
            1.0 | 60.0 => &[1.0, 2.0, 5.0, 10.0, 30.0],
            3600.0 => &[1.0, 2.0, 4.0, 12.0],
            _ => &[1.0, 2.0, 5.0],
        };
        times.extend(factors.iter().map(|factor| factor * unit));
    }
    // Not at the very ends, where the text would be cut off.
    times.retain(|time| (shortest..longest * 0.95).contains(time));
    times
}
