//! Lists of host names, written out or compressed: `atlas[3,5-7]`.
//!
//! A name may hold several brackets (`r[1-2]n[01-03].x`), numbers keep their leading zeros, and a
//! name without a number stays as it is. Order and repeated names are kept by [`expand`], [`minus`]
//! and [`intersect`]; [`compress`] sorts each group by number and also keeps repeated names. Text is
//! untrusted: only characters of host names are let through (a shell or a launcher takes none of
//! them for an option), and all sizes are bounded.

use scr_engine::job::identity::MAX_NAME;
use scr_engine::text::excerpt;
use scr_engine::{Error, Result};
use std::collections::{BTreeMap, HashSet};

/// The most hosts that a list may expand to.
pub const MAX_HOSTS: usize = 1 << 18;

/// Longest number that counts as a number, digits; a longer one is part of the name.
const MAX_DIGITS: usize = 18;

/// The hosts of a list in the order in which it names them. Names are separated by commas or
/// blanks; an empty text is an empty list.
///
/// # Errors
/// [`Error::Config`] that shows the text and its fault.
pub fn expand(text: &str) -> Result<Vec<String>> {
    let mut hosts = Vec::new();
    for word in words(text) {
        word.and_then(|word| name(word, &mut hosts))
            .map_err(|what| Error::config(format!("host list '{}'", excerpt(text, 80)), what))?;
    }
    Ok(hosts)
}

/// The shortest usual form of a list: hosts that differ in one number only come together as
/// `prefix[ranges]suffix`, in the order in which their group first appears.
pub fn compress<S: AsRef<str>>(hosts: &[S]) -> String {
    let mut groups: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    let mut places = BTreeMap::new();
    for host in hosts {
        let (prefix, number, suffix) = parts(host.as_ref());
        // Names without a number stand for themselves, also when given twice.
        let place = match number {
            "" => groups.len(),
            _ => *places.entry((prefix, suffix)).or_insert(groups.len()),
        };
        match groups.get_mut(place) {
            Some((_, _, numbers)) => numbers.push(number),
            None => groups.push((prefix, suffix, vec![number])),
        }
    }
    let groups = groups.into_iter().map(|(prefix, suffix, mut numbers)| {
        numbers.sort_by_key(|digits| (value(digits), digits.len()));
        match numbers.as_slice() {
            [one] => format!("{prefix}{one}{suffix}"),
            many => format!("{prefix}[{}]{suffix}", ranges(many)),
        }
    });
    groups.collect::<Vec<String>>().join(",")
}

/// The hosts of `from` that are not in `these`.
pub fn minus(from: &[String], these: &[String]) -> Vec<String> {
    let these: HashSet<&String> = these.iter().collect();
    let left = from.iter().filter(|host| !these.contains(host));
    left.cloned().collect()
}

/// The hosts of `one` that are also in `other`.
pub fn intersect(one: &[String], other: &[String]) -> Vec<String> {
    let other: HashSet<&String> = other.iter().collect();
    let both = one.iter().filter(|host| other.contains(host));
    both.cloned().collect()
}

/// The name of `host` in a list, which may have it with its domain or without. Local.
pub fn named_in<'a>(hosts: &'a [String], host: &str) -> Option<&'a String> {
    let short = |name: &str| {
        name.split('.')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase()
    };
    let exact = hosts.iter().find(|one| *one == host);
    exact.or_else(|| hosts.iter().find(|one| short(one) == short(host)))
}

/// The hosts, each only where it appears first.
pub fn unique(hosts: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    let new = hosts.into_iter().filter(|host| seen.insert(host.clone()));
    new.collect()
}

/// The `n`-th host, counted from 1, or from the end by -1 and below. `None` without such a host.
pub fn nth(hosts: &[String], n: i64) -> Option<&String> {
    let steps = usize::try_from(n.unsigned_abs().checked_sub(1)?).ok()?;
    if n > 0 {
        hosts.get(steps)
    } else {
        hosts.iter().rev().nth(steps)
    }
}

/// The first `n` hosts, or with a negative number the last; all if there are fewer.
pub fn segment(hosts: &[String], n: i64) -> &[String] {
    let count = usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX);
    let count = count.min(hosts.len());
    let start = if n < 0 { hosts.len() - count } else { 0 };
    hosts.get(start..start + count).unwrap_or_default()
}

/// Splits at commas and blanks outside of brackets.
fn words(text: &str) -> impl Iterator<Item = std::result::Result<&str, String>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
        if rest.is_empty() {
            return None;
        }
        let mut inside = false;
        let end = rest.find(|c: char| {
            match c {
                '[' => inside = true,
                ']' => inside = false,
                _ => {}
            }
            !inside && (c == ',' || c.is_whitespace())
        });
        let (word, left) = rest.split_at(end.unwrap_or(rest.len()));
        rest = left;
        if inside {
            return Some(Err(format!("'{}' lacks a ']'", excerpt(word, 80))));
        }
        Some(Ok(word))
    })
}

/// Adds the hosts that one word names.
fn name(word: &str, hosts: &mut Vec<String>) -> std::result::Result<(), String> {
    let mut made = vec![String::new()];
    let mut rest = word;
    while let Some((plain, after)) = rest.split_once('[') {
        let Some((inside, tail)) = after.split_once(']') else {
            return Err(format!("'{}' lacks a ']'", excerpt(word, 80)));
        };
        // The length is checked before the text is repeated for each number.
        if plain.len() > MAX_NAME {
            return Err(too_long());
        }
        let room = MAX_HOSTS / made.len().max(1);
        let numbers = numbers(inside, room)?;
        made = made
            .iter()
            .flat_map(|start| {
                numbers
                    .iter()
                    .map(move |number| format!("{start}{plain}{number}"))
            })
            .collect();
        if made.iter().any(|start| start.len() > MAX_NAME) {
            return Err(too_long());
        }
        rest = tail;
    }
    if rest.len() > MAX_NAME {
        return Err(too_long());
    }
    made.iter_mut().for_each(|start| start.push_str(rest));
    for host in &made {
        check(host, word)?;
    }
    if hosts.len() + made.len() > MAX_HOSTS {
        return Err(too_many());
    }
    hosts.append(&mut made);
    Ok(())
}

/// The numbers of one pair of brackets as text, leading zeros kept, at most `room`.
fn numbers(inside: &str, room: usize) -> std::result::Result<Vec<String>, String> {
    let mut numbers = Vec::new();
    for part in inside.split(',') {
        let part = part.trim();
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let digits = |text: &str| {
            let good = (1..=MAX_DIGITS).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_digit());
            good.then(|| value(text))
        };
        let (Some(first), Some(last)) = (digits(low), digits(high)) else {
            return Err(format!(
                "'{}' is no number or range; write [3,5-7]",
                excerpt(part, 80)
            ));
        };
        if first > last {
            return Err(format!("'{part}' runs backwards; write [{high}-{low}]"));
        }
        let count = usize::try_from(last - first).unwrap_or(usize::MAX);
        if count >= room.saturating_sub(numbers.len()) {
            return Err(too_many());
        }
        let width = low.len();
        numbers.extend((first..=last).map(|number| format!("{number:0width$}")));
    }
    Ok(numbers)
}

fn too_many() -> String {
    format!("more than {MAX_HOSTS} hosts")
}

fn too_long() -> String {
    format!("a name of more than {MAX_NAME} bytes")
}

fn check(host: &str, word: &str) -> std::result::Result<(), String> {
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if host.len() > MAX_NAME {
        return Err(too_long());
    }
    if host.is_empty() || host.starts_with('-') || !host.chars().all(letters) {
        return Err(format!(
            "'{}' is no host name: letters, digits, '.', '_' and '-' may be in it, and it \
             does not begin with '-'",
            excerpt(word, 80)
        ));
    }
    Ok(())
}

/// Splits a name around the number that tells it from its neighbours. In a name that is the last
/// number before the first dot, since a domain follows the dot; in an address in digits it is the
/// last number of all. The number is empty if the name contains no number.
fn parts(host: &str) -> (&str, &str, &str) {
    let address = host
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let label = match host.find('.') {
        Some(dot) if !address => host.get(..dot).unwrap_or(host),
        _ => host,
    };
    let stem = label.trim_end_matches(|c: char| !c.is_ascii_digit());
    let prefix = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = stem.get(prefix.len()..).unwrap_or("");
    if number.is_empty() || number.len() > MAX_DIGITS {
        return (host, "", "");
    }
    (prefix, number, host.get(stem.len()..).unwrap_or(""))
}

/// The value of at most [`MAX_DIGITS`] digits.
fn value(digits: &str) -> u64 {
    digits.bytes().fold(0u64, |sum, digit| {
        sum.wrapping_mul(10) + u64::from(digit.wrapping_sub(b'0'))
    })
}

/// Sorted numbers as ranges. A range is written only where expanding it gives the very same
/// digits again.
fn ranges(numbers: &[&str]) -> String {
    let mut found: Vec<(&str, &str)> = Vec::new();
    for &number in numbers {
        match found.last_mut() {
            Some((low, high)) if follows(low, high, number) => *high = number,
            _ => found.push((number, number)),
        }
    }
    let texts = found.iter().map(|(low, high)| {
        if low == high {
            (*low).to_string()
        } else {
            format!("{low}-{high}")
        }
    });
    texts.collect::<Vec<String>>().join(",")
}

fn follows(low: &str, high: &str, number: &str) -> bool {
    let width = low.len();
    format!("{:0width$}", value(high) + 1) == number
}
