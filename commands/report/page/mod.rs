//! The report as one page for a browser, without scripts and without other files.

mod bars;
mod curve;
mod svg;
mod timeline;

use super::datasets::{Dataset, Moved};
use super::estimate::ASSUMPTIONS;
use super::findings::{Findings, TimeUse};
use super::words::{bytes, clock, duration, or_dash, percent, rate};
use super::{notes, text as words};
use bars::Chart;
use scr_engine::text::counted;
use svg::{Scale, WIDTH, picture, rectangle, text};

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");

/// Most rows of a table. If a list is longer, the newest are shown: a browser is slow with more.
const MOST_ROWS: usize = 5000;

/// The whole page.
pub(super) fn page(findings: &Findings) -> String {
    let title = words::title(findings);
    let about = if findings.runs.is_empty() {
        String::new()
    } else {
        body(findings)
    };
    fill(
        TEMPLATE,
        &[
            ("style", STYLE),
            ("title", &text(&title)),
            ("notes", &list(&notes::of(findings))),
            ("body", &about),
            ("version", scr_engine::version::RELEASE),
        ],
    )
}

/// Puts values in place of their names in double braces. Text that comes from a value is not
/// replaced again.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut parts = template.split("{{");
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
        let value = values.iter().find(|value| value.0 == name);
        out.push_str(value.map_or("", |value| value.1));
        out.push_str(rest);
    }
    out
}

fn list(items: &[String]) -> String {
    if items.is_empty() {
        String::new()
    } else {
        let items: String = items
            .iter()
            .map(|i| format!("<li>{}</li>", text(i)))
            .collect();
        format!("<ul class=\"notes\">{items}</ul>")
    }
}

fn body(findings: &Findings) -> String {
    let mut out = headline(findings);
    out += "<h2>Where the time went</h2>\n";
    out += &total_bar(&findings.time);
    out += &time_table(findings);
    out += &format!("<p>{}</p>\n", text(&words::waiting(findings)));
    if let Some(hangs) = words::hangs(findings) {
        out += &format!("<p>{}</p>\n", text(&hangs));
    }
    out += "<h2>Runs</h2>\n";
    out += LEGEND;
    if findings.runs.len() > timeline::MOST_RUNS {
        let most = timeline::MOST_RUNS;
        out += &format!("<p>The picture has the newest {most} runs, the table has all.</p>\n");
    }
    out += &timeline::timeline(findings);
    out += &table(&words::run_rows(findings), "Runs");
    if !findings.failures.is_empty() {
        out += "<h2>Failures</h2>\n";
        out += &table(&words::failure_rows(findings), "What each failure cost");
    }
    if !findings.failed.is_empty() {
        out += "<h2>What SCR could not do</h2>\n";
        out += &table(&words::failed_rows(findings), "What failed, and why");
    }
    out += "<h2>How often to write a checkpoint</h2>\n";
    for sentence in words::interval(findings) {
        out += &format!("<p>{}</p>\n", text(&sentence));
    }
    out += &curve::curve(&findings.estimate);
    out += &format!("<p class=\"small\">{}</p>\n", text(ASSUMPTIONS));
    if !findings.levels.is_empty() {
        out += "<h2>Levels</h2>\n";
        out += &table(&words::level_rows(findings), "Cost of each level");
    }
    out + &datasets(findings)
}

/// The most important numbers.
fn headline(findings: &Findings) -> String {
    let time = &findings.time;
    let tiles = [
        (
            or_dash(time.share(time.progress), percent),
            "of the time made progress",
        ),
        (duration(findings.blocked), "the program waited for SCR"),
        (duration(findings.hidden), "of flushes in the background"),
        (duration(time.lost), "of work lost"),
    ];
    let tile = |(number, what): (String, &str)| {
        format!("<div><b>{}</b><span>{what}</span></div>", text(&number))
    };
    let tiles: String = tiles.into_iter().map(tile).collect();
    format!("<div class=\"tiles\">{tiles}</div>\n")
}

fn total_bar(time: &TimeUse) -> String {
    if time.total <= 0.0 {
        return String::new();
    }
    let mut inside = String::new();
    let mut x = 0.0;
    for (class, name, part) in time.parts() {
        let width = part / time.total * WIDTH;
        if width > 0.0 {
            let about = format!("{name}: {}, {}", duration(part), percent(part / time.total));
            inside += &rectangle(class, [x, 0.0, width, 34.0], &about);
        }
        x += width;
    }
    let about = "Shares of the time, as in the table below";
    // The picture has no text, which would be too small on a phone.
    picture(34.0, about, &inside).replacen("\"picture\"", "\"picture whole\"", 1)
}

fn time_table(findings: &Findings) -> String {
    let time = &findings.time;
    let mut rows = String::new();
    for (class, name, part) in time.parts() {
        rows += &format!(
            "<tr><td>{}{name}</td><td>{}</td><td>{}</td></tr>\n",
            swatch(class),
            text(&duration(part)),
            text(&or_dash(time.share(part), percent))
        );
    }
    let all = text(&duration(time.total));
    format!(
        "<div class=\"wide\"><table><caption>Time of all runs</caption>\
         <thead><tr><th>part</th><th>time</th><th>share</th></tr></thead>\n<tbody>{rows}\
         <tr class=\"all\"><td>All</td><td>{all}</td><td>100.0 %</td></tr></tbody></table></div>\n"
    )
}

/// A sample of a colour.
fn swatch(class: &str) -> String {
    format!(
        "<svg class=\"swatch\" viewBox=\"0 0 14 14\" aria-hidden=\"true\">\
         <rect class=\"{class}\" width=\"14\" height=\"14\"/></svg>"
    )
}

const LEGEND: &str = "<p class=\"small legend\">Each bar is a run; a column shows what it did in its time, in proportion. \
     Colours are those of the table above. Hatched: lost work. The thin blue strip below a bar: flushes in the \
     background. A cross: the run was killed there.</p>\n";

/// A table, whose first row has the names of the columns. Numbers are to the right.
fn table(rows: &[Vec<String>], caption: &str) -> String {
    let Some((head, rows)) = rows.split_first() else {
        return String::new();
    };
    let left_out = rows.len().saturating_sub(MOST_ROWS);
    let rows = rows.get(left_out..).unwrap_or_default();
    let caption = match left_out {
        0 => text(caption),
        _ => format!("{}, the newest {MOST_ROWS}; --json has all", text(caption)),
    };
    let cells = |row: &[String], tag: &str| -> String {
        let cell = |cell: &String| format!("<{tag}>{}</{tag}>", text(cell));
        row.iter().map(cell).collect()
    };
    let head: Vec<String> = head.iter().map(|name| name.to_lowercase()).collect();
    let head = cells(&head, "th");
    let body: String = rows
        .iter()
        .map(|row| format!("<tr>{}</tr>\n", cells(row, "td")))
        .collect();
    format!(
        "<div class=\"wide\"><table><caption>{caption}</caption><thead><tr>{head}</tr></thead>\n\
         <tbody>{body}</tbody></table></div>\n"
    )
}

/// Charts and a table of all datasets.
fn datasets(findings: &Findings) -> String {
    if findings.datasets.is_empty() {
        return String::new();
    }
    let mut out = "<h2>Datasets</h2>\n".to_string();
    let seconds = |moved: Option<Moved>| moved.and_then(|moved| moved.seconds).unwrap_or(0.0);
    let written = findings
        .datasets
        .iter()
        .filter(|dataset| dataset.written.is_some());
    let values: Vec<(String, Vec<f64>)> = written
        .map(|dataset| {
            let encode = seconds(dataset.encoded);
            let write = (seconds(dataset.written) - encode).max(0.0);
            let parts = vec![write, encode, seconds(dataset.flushed)];
            (dataset.id.to_string(), parts)
        })
        .collect();
    out += "<p class=\"small legend\">";
    for (class, name) in COST_PARTS {
        out += &format!("{}{name} ", swatch(class));
    }
    out += "</p>\n";
    out += &Chart {
        title: "time that the program waits for each dataset",
        scale: Scale::of_time,
        words: duration,
        parts: &COST_PARTS,
        values: &values,
    }
    .draw();
    for (title, class, name, moved) in RATES {
        let values = findings.datasets.iter().filter_map(|dataset| {
            let rate = moved(dataset)?.rate()?;
            Some((dataset.id.to_string(), vec![rate]))
        });
        let values: Vec<(String, Vec<f64>)> = values.collect();
        let parts = &[(class, name)];
        out += &Chart {
            title,
            scale: Scale::of_rate,
            words: rate,
            parts,
            values: &values,
        }
        .draw();
    }
    let rows = dataset_rows(findings);
    let count = counted(findings.datasets.len(), "dataset");
    let table = table(&rows, "Datasets");
    out + &format!("<details><summary>Numbers of {count}</summary>\n{table}</details>\n")
}

const COST_PARTS: [(&str, &str); 3] = [
    ("checkpoint", "writing"),
    ("redundancy", "redundancy"),
    ("flush", "flush"),
];

type Get = fn(&Dataset) -> Option<Moved>;

/// The charts of bandwidth: title, class, name, and the transfer.
const RATES: [(&str, &str, &str, Get); 5] = [
    (
        "bandwidth of writing, with redundancy",
        "checkpoint",
        "written with",
        |one| one.written,
    ),
    (
        "bandwidth of making redundancy",
        "redundancy",
        "made redundant with",
        |one| one.encoded,
    ),
    (
        "bandwidth of flushes, the program waits",
        "flush",
        "flushed with",
        |one| one.flushed,
    ),
    (
        "bandwidth of flushes in the background",
        "behind",
        "flushed with",
        |one| one.flushed_behind,
    ),
    ("bandwidth of fetches", "restart", "fetched with", |one| {
        one.fetched
    }),
];

fn dataset_rows(findings: &Findings) -> Vec<Vec<String>> {
    let names = [
        "id",
        "name",
        "run",
        "time",
        "size",
        "files",
        "scheme",
        "store",
        "written",
        "write rate",
        "redundancy",
        "flush",
        "flush rate",
        "background",
        "background rate",
        "fetch",
        "fetch rate",
    ];
    let mut rows = vec![names.map(String::from).to_vec()];
    for dataset in &findings.datasets {
        let mut cells = vec![
            dataset.id.to_string(),
            dataset.name.clone().unwrap_or_else(|| "-".to_string()),
            (dataset.run + 1).to_string(),
            clock(dataset.time as f64),
            or_dash(dataset.bytes, bytes),
            or_dash(dataset.files, |files| files.to_string()),
            dataset.scheme_text().to_string(),
            dataset.store.clone().unwrap_or_else(|| "-".to_string()),
        ];
        let seconds = |moved: Option<Moved>| or_dash(moved.and_then(|m| m.seconds), duration);
        let speed = |moved: Option<Moved>| or_dash(moved.and_then(|m| m.rate()), rate);
        cells.extend([
            seconds(dataset.written),
            speed(dataset.written),
            seconds(dataset.encoded),
        ]);
        for moved in [dataset.flushed, dataset.flushed_behind, dataset.fetched] {
            cells.extend([seconds(moved), speed(moved)]);
        }
        rows.push(cells);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::{MOST_ROWS, fill, table};

    #[test]
    fn a_long_table_has_its_newest_rows_and_says_so() {
        let rows = |count: usize| -> Vec<Vec<String>> {
            let numbers = (0..count).map(|number| vec![format!("<{number}>")]);
            std::iter::once(vec!["ID".to_string()])
                .chain(numbers)
                .collect()
        };
        let whole = table(&rows(MOST_ROWS), "Rows");
        assert!(whole.contains("<caption>Rows</caption>") && whole.contains("<td>&lt;0&gt;</td>"));
        let cut = table(&rows(MOST_ROWS + 1), "Rows");
        assert!(cut.contains("<caption>Rows, the newest 5000; --json has all</caption>"));
        assert_eq!(cut.matches("<td>").count(), MOST_ROWS);
        assert!(!cut.contains("&lt;0&gt;") && cut.contains("<td>&lt;5000&gt;</td>"));
    }

    #[test]
    fn a_value_is_not_replaced_again() {
        let values = [("a", "{{b}}"), ("b", "x")];
        assert_eq!(fill("1{{a}}2{{b}}3{{c}}4", &values), "1{{b}}2x34");
    }
}
