//! The explanation in words.

use super::looks::Second;
use super::search::{Explanation, Suspect};
use super::stops::not_looked_at;
use scr_engine::text::{counted, escaped, excerpt};
use scr_jobs::variables::image::How;
use scr_jobs::variables::{Kind, Told};

/// So many variables are named that are not proven.
const MOST: usize = 10;

pub(super) fn lines(found: &Explanation) -> Vec<String> {
    let mut lines = Vec::new();
    match found.told {
        Told::Debug => {}
        Told::Symbols => lines.push(
            "  the program has no debug information, so types are not known: compile it with -g"
                .into(),
        ),
        Told::Compressed => lines.push(
            "  the program's debug information is compressed, so types are not known: compile and link it without -gz".into(),
        ),
        Told::Split => lines.push(
            "  the program's debug information is in files of its own, so types are not known: compile it without -gsplit-dwarf".into(),
        ),
        Told::Nothing => {
            lines.push("  the program is stripped, so its variables have no names: link it without -s, and compile it with -g".into());
        }
    }
    if found.cut {
        lines.push("  it has more variables than can be looked at: the first ones were".into());
    }
    lines.extend(not_looked_at(&found.remote));
    for name in &found.misread {
        lines.push(format!(
            "  {}: in the list, and still other than undisturbed",
            escaped(name)
        ));
    }
    lines.extend(found.needed.iter().map(|one| line(one, found.lists)));
    let second = match &found.moments.second {
        Second::Next(name) => name.clone(),
        Second::End => "the end of the run".into(),
    };
    let restarts = counted(found.restarts as usize, "restart");
    let with = match found.needed.len() {
        1 => "this variable".to_string(),
        number => format!("these {number} variables"),
    };
    // Where the program lists its state, that is the whole checkpoint.
    let counts = |listed: bool| listed || !found.lists;
    let still = found
        .still_wrong
        .iter()
        .map(|(name, listed)| (escaped(name).into_owned(), *listed));
    let (still, beside): (Vec<_>, Vec<_>) = still.partition(|(_, listed)| counts(*listed));
    let names = |all: &[(String, bool)]| {
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        excerpt(&names.join(", "), 300)
    };
    if found.needed.is_empty() {
        lines.extend(unproven(found, &second));
    } else if still.is_empty() {
        lines.push(format!(
            "  proven: with {with} as undisturbed, {second} is as undisturbed ({restarts} tried)"
        ));
    } else {
        lines.push(format!(
            "  proven in part: with {with} as undisturbed, less of {second} is wrong ({restarts} tried); still wrong: {}",
            names(&still)
        ));
    }
    if !found.needed.is_empty() && !beside.is_empty() {
        lines.push(format!(
            "  still other at {second}, but not in the list: {}",
            names(&beside)
        ));
    }
    if !found.needed.is_empty() {
        lines.extend(without_effect(found));
    }
    lines
}

fn without_effect(found: &Explanation) -> Option<String> {
    let without = |one: &&Suspect| !found.unseen || !is_kept(one);
    let names: Vec<String> = found.others.iter().filter(without).map(name).collect();
    (!names.is_empty()).then(|| {
        format!(
            "  differ, too, without effect: {}",
            excerpt(&names.join(", "), 300)
        )
    })
}

/// True for a variable that was not put right, though the others were. That of a function may have another place, too.
fn is_kept(one: &Suspect) -> bool {
    let values = matches!(one.one.how, How::Values { .. });
    !one.unsteady && (!values || one.one.leaf.local)
}

/// What may be the cause if no variable is.
fn unseen(found: &Explanation) -> String {
    let rest = "files, variables that were optimised away, variables of other threads, memory of libraries and devices";
    match &found.generators[..] {
        [] => rest.into(),
        some => format!(
            "the state of {}, which is in a library, {rest}",
            some.join(" and ")
        ),
    }
}

/// No variable was found whose value puts all right.
fn unproven(found: &Explanation, second: &str) -> Vec<String> {
    if found.others.is_empty() {
        return vec![format!(
            "  no variable that can be seen differs: look at {}, and at what is computed after the restart",
            unseen(found)
        )];
    }
    if found.unseen {
        let mut kept: Vec<&Suspect> = found.others.iter().filter(|one| is_kept(one)).collect();
        // A variable of a function has been put right, unless it is in a register.
        kept.sort_by_key(|one| matches!(one.one.how, How::Values { .. }));
        let mut lines: Vec<String> = kept
            .iter()
            .take(MOST)
            .map(|one| line(one, found.lists))
            .collect();
        lines.push(match kept.len() {
            0 => format!(
                "  not proven: {second} stays wrong with all variables that differ as undisturbed, so look at {}",
                unseen(found)
            ),
            _ => format!(
                "  not proven: {second} stays wrong with all other variables as undisturbed. These cannot be put right from outside: \
                 they are not there, have another size, or may be in a register. If the cause is elsewhere, look at {}",
                unseen(found)
            ),
        });
        lines.extend(without_effect(found));
        return lines;
    }
    let mut lines = vec![format!(
        "  not proven: no variable puts {second} right; those that differ after the restart, most suspicious first:"
    )];
    lines.extend(
        found
            .others
            .iter()
            .take(MOST)
            .map(|one| line(one, found.lists)),
    );
    if found.others.len() > MOST {
        lines.push(format!("  and {} more", found.others.len() - MOST));
    }
    lines
}

fn name(one: &Suspect) -> String {
    escaped(&one.one.leaf.shown).to_string()
}

/// `time_scheme::du_old (time_scheme.f90:41), real(8), 128x64, differs in 8,190 elements, not in the list`
fn line(one: &Suspect, lists: bool) -> String {
    let leaf = &one.one.leaf;
    let mut words = vec![match leaf.place.as_str() {
        "" => name(one),
        place => format!("{} ({})", name(one), escaped(place)),
    }];
    words.extend(
        [leaf.type_name.clone(), leaf.shape()]
            .into_iter()
            .filter(|word| !word.is_empty()),
    );
    words.push(match &one.one.how {
        How::Presence { image: true } => "is not there".into(),
        How::Presence { image: false } => "is there, and is not undisturbed".into(),
        How::Shape { image } => format!("has another number of elements, {image} undisturbed"),
        How::Values { .. } if leaf.kind == Kind::Target => {
            "points to something else than undisturbed".into()
        }
        How::Values { first, .. } if leaf.count() == 1 && one.count as usize <= one.ranks.len() => {
            match first {
                Some((undisturbed, now)) => format!(
                    "is {}, and {} undisturbed",
                    number(*now),
                    number(*undisturbed)
                ),
                None => "differs".into(),
            }
        }
        How::Values { largest, .. } => {
            let largest = largest.map_or(String::new(), |largest| {
                format!(" by at most {largest:.3e}")
            });
            format!("differs in {} elements{largest}", with_commas(one.count))
        }
    });
    if one.ranks.len() > 1 {
        words.push(format!("on {} ranks", one.ranks.len()));
    }
    words.push(if lists {
        "not in the list".into()
    } else {
        "not read from the checkpoint".into()
    });
    format!("  {}", words.join(", "))
}

/// `5.0` is `5`; a very small or large number has an exponent.
fn number(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").unwrap_or(&text).to_string()
}

/// `8190` is `8,190`.
fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let parts: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|part| str::from_utf8(part).ok())
        .collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::with_commas;

    #[test]
    fn large_numbers_have_commas() {
        assert_eq!(with_commas(8190), "8,190");
        assert_eq!(with_commas(999), "999");
        assert_eq!(with_commas(1_000_000), "1,000,000");
    }
}
