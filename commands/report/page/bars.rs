//! Bars: a value for each dataset.

use super::svg::{Scale, WIDTH, label, line, picture, rectangle};

/// Most bars. If there are more datasets, neighbours share a bar.
const MOST_BARS: usize = 200;

const LEFT: f64 = 70.0;
const RIGHT: f64 = 12.0;
const HEIGHT: f64 = 150.0;
const TOP: f64 = 26.0;

/// A chart to be drawn.
pub(super) struct Chart<'a> {
    /// The meaning of the bars, without the unit.
    pub title: &'a str,
    /// The scale for a largest value.
    pub scale: fn(f64, f64) -> Scale,
    /// A value in words.
    pub words: fn(f64) -> String,
    /// Classes and names of the parts of a bar, from bottom to top.
    pub parts: &'a [(&'a str, &'a str)],
    /// For each dataset its name and the values of the parts.
    pub values: &'a [(String, Vec<f64>)],
}

/// A bar for some datasets: the first and the last of them, and the means of the parts.
struct Bar<'a> {
    first: &'a str,
    last: &'a str,
    means: Vec<f64>,
}

impl Chart<'_> {
    pub fn draw(&self) -> String {
        let bars = self.bars();
        let sums = bars.iter().map(|bar| bar.means.iter().sum::<f64>());
        let most = sums.fold(0.0, f64::max);
        if most <= 0.0 || !most.is_finite() {
            return String::new();
        }
        let scale = (self.scale)(most, 5.0);
        let width = WIDTH - LEFT - RIGHT;
        let bottom = TOP + HEIGHT;
        let mut inside = label(
            LEFT,
            14.0,
            "start",
            &format!("{} ({})", self.title, scale.unit),
        );
        for (value, words) in scale.marks() {
            let y = bottom - value / most * HEIGHT;
            inside += &line("grid", (LEFT, y), (WIDTH - RIGHT, y));
            inside += &label(LEFT - 8.0, y + 4.0, "end", &words);
        }
        // Few bars are not wider than a finger.
        let step = (width / bars.len() as f64).min(40.0);
        let bar_width = (step * 0.8).max(step - 4.0);
        for (number, bar) in bars.iter().enumerate() {
            let x = LEFT + number as f64 * step + (step - bar_width) / 2.0;
            let mut y = bottom;
            for ((class, name), value) in self.parts.iter().zip(&bar.means) {
                let height = value / most * HEIGHT;
                if height <= 0.0 {
                    continue;
                }
                y -= height;
                let about = format!("{}: {name} {}", bar.name(), (self.words)(*value));
                inside += &rectangle(class, [x, y, bar_width, height], &about);
            }
        }
        inside += &self.names(&bars, step, bottom);
        picture(bottom + 40.0, self.title, &inside)
    }

    /// Names below some bars, as many as there is room for.
    fn names(&self, bars: &[Bar], step: f64, bottom: f64) -> String {
        let longest = bars
            .iter()
            .map(|bar| bar.first.chars().count())
            .max()
            .unwrap_or(1);
        let room = (longest as f64 * 7.0 + 14.0).max(step);
        let every = (room / step).ceil().max(1.0) as usize;
        let mut out = String::new();
        for (number, bar) in bars.iter().enumerate().step_by(every) {
            let x = LEFT + (number as f64 + 0.5) * step;
            let half = longest as f64 * 3.5;
            // A name is not cut off at either end.
            let x = x.clamp(half, WIDTH - half);
            out += &line("grid", (x, bottom), (x, bottom + 4.0));
            out += &label(x, bottom + 17.0, "middle", bar.first);
        }
        let middle = LEFT + (WIDTH - LEFT - RIGHT) / 2.0;
        let words = if self.values.len() > MOST_BARS {
            format!(
                "id of the dataset; each bar is the mean of up to {}",
                self.values.len().div_ceil(MOST_BARS)
            )
        } else {
            "id of the dataset".to_string()
        };
        out + &label(middle, bottom + 35.0, "middle", &words)
    }

    fn bars(&self) -> Vec<Bar<'_>> {
        let each = self.values.len().div_ceil(MOST_BARS).max(1);
        let bars = self.values.chunks(each).filter_map(|part| {
            let (first, last) = (part.first()?, part.last()?);
            let mean = |at: usize| {
                let values = part.iter().filter_map(|(_, values)| values.get(at));
                values.sum::<f64>() / part.len() as f64
            };
            Some(Bar {
                first: &first.0,
                last: &last.0,
                means: (0..self.parts.len()).map(mean).collect(),
            })
        });
        bars.collect()
    }
}

impl Bar<'_> {
    fn name(&self) -> String {
        if self.first == self.last {
            format!("dataset {}", self.first)
        } else {
            format!("mean of datasets {} to {}", self.first, self.last)
        }
    }
}
