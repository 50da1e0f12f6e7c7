//! The sequences of `cases.txt`: model and library must give the answers that are written there.

use crate::calls::{Call, Config};
use crate::differences::Difference;
use crate::driver::{Expected, compare, expect};

pub struct Case {
    title: String,
    /// The only differences that it shows.
    pub differences: Vec<Difference>,
    config: Config,
    calls: Vec<Call>,
    /// The text after each call: the answer, and what follows it.
    told: Vec<Told>,
}

#[derive(Debug, PartialEq, Eq)]
struct Told {
    answer: String,
    index: Option<String>,
    cached: Option<String>,
}

/// All cases of the file.
pub fn cases() -> Vec<Case> {
    let text = include_str!("cases.txt");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let text: Vec<&str> = lines.collect();
    let text = text.join("\n");
    let cases = text.split("\n== ").skip(1);
    cases
        .map(|case| read(case).unwrap_or_else(|line| panic!("cases.txt: {line}")))
        .collect()
}

fn read(text: &str) -> Result<Case, String> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut next = || lines.next().ok_or_else(|| text.to_string());
    let title = next()?;
    let (_, names) = title.trim_end_matches(']').rsplit_once('[').ok_or(title)?;
    let names = names.split(", ").filter(|name| !name.is_empty());
    let known = |name: &str| {
        let mut all = Difference::ALL.into_iter();
        all.find(|d| format!("{d:?}") == name)
            .ok_or(name.to_string())
    };
    let line = next()?;
    let mut case = Case {
        title: title.to_string(),
        differences: names.map(known).collect::<Result<_, _>>()?,
        config: Config::parse(line).ok_or(line)?,
        calls: Vec::new(),
        told: Vec::new(),
    };
    for line in lines {
        if let Some((call, answer)) = line.split_once(" -> ") {
            case.calls.push(Call::parse(call).ok_or(line)?);
            case.told.push(Told {
                answer: answer.to_string(),
                index: None,
                cached: None,
            });
            continue;
        }
        let last = case.told.last_mut().ok_or(line)?;
        match line.split_once(':').ok_or(line)? {
            ("index", index) => last.index = Some(index.trim().to_string()),
            ("cached", cached) => last.cached = Some(cached.trim().to_string()),
            _ => return Err(line.to_string()),
        }
    }
    Ok(case)
}

impl Case {
    /// The first answer in the case that the model does not give.
    fn contradiction(&self, differences: &[Difference]) -> Option<String> {
        let expected = expect(self.config, &self.calls, differences);
        let mut all = self.calls.iter().zip(&self.told).zip(&expected);
        all.find_map(|((call, told), expected)| {
            let said = told_like(told, expected);
            (said != *told).then(|| format!("{}\n{call} -> {said:?}, not {told:?}", self.title))
        })
    }

    /// Checks the model: with all differences, with its own only, and without them.
    pub fn check_model(&self) {
        for differences in [&Difference::ALL[..], &self.differences] {
            if let Some(text) = self.contradiction(differences) {
                panic!("the model with {differences:?}: {text}");
            }
        }
        for left_out in &self.differences {
            let mut others = self.differences.clone();
            others.retain(|other| other != left_out);
            let shown = self.contradiction(&others).is_some();
            assert!(shown, "{}: does not show {left_out:?}", self.title);
        }
    }

    /// Checks the library. Returns what it does instead.
    pub fn check_library(&self) -> Option<String> {
        let mut expected = expect(self.config, &self.calls, &Difference::ALL);
        for (told, expected) in self.told.iter().zip(&mut expected) {
            // Only what the case mentions is compared.
            expected.seen.index.take_if(|_| told.index.is_none());
            expected.seen.cached.take_if(|_| told.cached.is_none());
        }
        let found = compare(self.config, &self.calls, &expected)?;
        let call = &self.calls[found.at];
        Some(format!("== {}\n{call} {}\n", self.title, found.text))
    }
}

/// The answers of the model that the case mentions.
fn told_like(told: &Told, expected: &Expected) -> Told {
    let seen = &expected.seen;
    let cached = seen.cached.as_ref().map(|cached| format!("{cached:?}"));
    Told {
        answer: seen.answer.to_string(),
        index: seen.index.clone().filter(|_| told.index.is_some()),
        cached: cached.filter(|_| told.cached.is_some()),
    }
}
