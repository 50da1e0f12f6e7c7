//! Parts of pictures.

use scr_engine::text::is_hidden;
use std::fmt::Write as _;

/// Width of all pictures, in their own units.
pub(super) const WIDTH: f64 = 1000.0;

/// A text for HTML and SVG, inside of elements and of quoted attributes. All texts of the page that are not
/// written in its code go through this.
pub(super) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter if is_hidden(letter) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out
}

/// A coordinate, without digits that are too small to see.
pub(super) fn place(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_string).unwrap_or(text)
}

/// A picture with a text for readers who do not see it. `inside` is SVG.
pub(super) fn picture(height: f64, about: &str, inside: &str) -> String {
    let (width, height, about) = (place(WIDTH), place(height), text(about));
    format!(
        "<div class=\"picture\"><svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{about}\">\
         {inside}</svg></div>\n"
    )
}

/// A rectangle of a class, with a text that a browser shows beside the pointer.
pub(super) fn rectangle(class: &str, at: [f64; 4], about: &str) -> String {
    let [x, y, width, height] = at.map(place);
    let about = text(about);
    format!(
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\">\
         <title>{about}</title></rect>"
    )
}

/// A label. `anchor` is `start`, `middle` or `end`.
pub(super) fn label(x: f64, y: f64, anchor: &str, words: &str) -> String {
    let (x, y, words) = (place(x), place(y), text(words));
    format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{words}</text>")
}

/// A thin line of a class.
pub(super) fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> String {
    let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(place);
    format!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>")
}

/// A scale from 0: its unit, how many of the base unit that is, and the distance of its marks in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    pub unit: &'static str,
    pub size: f64,
    pub step: f64,
    /// The largest value, in the base unit.
    pub most: f64,
}

impl Scale {
    /// For times of up to `most` seconds, with at most `marks` marks besides 0.
    pub fn of_time(most: f64, marks: f64) -> Self {
        const UNITS: [(&str, f64, &[f64]); 4] = [
            ("s", 1.0, &[1.0, 2.0, 5.0, 10.0, 15.0]),
            ("min", 60.0, &[0.5, 1.0, 2.0, 5.0, 10.0, 15.0]),
            ("h", 3600.0, &[0.5, 1.0, 2.0, 3.0, 4.0, 6.0]),
            ("d", 86400.0, &[0.5, 1.0, 2.0, 5.0, 10.0]),
        ];
        if most < marks / 2.0 {
            return Scale::decimal("s", 1.0, most, marks);
        }
        for (unit, size, steps) in UNITS {
            let mut steps = steps.iter().copied();
            if let Some(step) = steps.find(|step| step * size * marks >= most) {
                return Scale {
                    unit,
                    size,
                    step,
                    most,
                };
            }
        }
        Scale::decimal("d", 86400.0, most, marks)
    }

    /// For rates of up to `most` bytes a second.
    pub fn of_rate(most: f64, marks: f64) -> Self {
        const UNITS: [&str; 6] = ["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "PiB/s"];
        let mut size = 1.0;
        let mut unit = "B/s";
        for next in UNITS.iter().skip(1) {
            if most < size * 1024.0 {
                break;
            }
            size *= 1024.0;
            unit = next;
        }
        Scale::decimal(unit, size, most, marks)
    }

    /// For shares of up to `most`, of 1; the marks are percentages.
    pub fn of_share(most: f64, marks: f64) -> Self {
        Scale::decimal("%", 0.01, most, marks)
    }

    /// Steps of 1, 2 and 5 with any number of zeros.
    fn decimal(unit: &'static str, size: f64, most: f64, marks: f64) -> Self {
        let least = (most / size / marks).max(1e-9);
        let ten = 10f64.powf(least.log10().floor());
        let step = [1.0, 2.0, 5.0].into_iter().find(|step| step * ten >= least);
        let step = step.unwrap_or(10.0) * ten;
        Scale {
            unit,
            size,
            step,
            most,
        }
    }

    /// The marks: their values in the base unit, and their texts.
    pub fn marks(&self) -> Vec<(f64, String)> {
        let digits = (-self.step.log10().floor()).clamp(0.0, 9.0) as usize;
        let count = (self.most / self.size / self.step)
            .floor()
            .clamp(0.0, 100.0) as usize;
        let mark = |number: usize| {
            let value = number as f64 * self.step;
            (value * self.size, format!("{value:.digits$}"))
        };
        (0..=count).map(mark).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Scale, text};

    #[test]
    fn no_text_becomes_markup() {
        let hostile = "</script><img src=x onerror=\"a('b')\">&amp;\u{202e}\n";
        let safe = text(hostile);
        assert_eq!(
            safe,
            "&lt;/script&gt;&lt;img src=x onerror=&quot;a(&#39;b&#39;)&quot;&gt;&amp;amp;\\u{202e}\\u{a}"
        );
    }

    #[test]
    fn scales_have_few_round_marks() {
        for most in [
            0.003, 0.5, 1.0, 59.0, 61.0, 5000.0, 86_000.0, 9e5, 4e7, 1e12,
        ] {
            for scale in [Scale::of_time(most, 8.0), Scale::of_rate(most, 5.0)] {
                let marks = scale.marks();
                assert!((2..=10).contains(&marks.len()), "{most}: {marks:?}");
                let mut texts: Vec<&String> = marks.iter().map(|mark| &mark.1).collect();
                texts.dedup();
                assert_eq!(texts.len(), marks.len(), "{most}: {marks:?}");
            }
        }
        let hours = Scale::of_time(30_000.0, 8.0);
        assert_eq!((hours.unit, hours.step), ("h", 2.0));
        let hours = Scale::of_time(15_000.0, 9.0);
        assert_eq!((hours.unit, hours.step), ("h", 0.5));
    }
}
