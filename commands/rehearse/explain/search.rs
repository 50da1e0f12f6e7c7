//! Finds the fewest variables with which a restart comes out right.

use super::looks::{Found, Look, Looks, Moments, Second};
use super::stops::Why;
use scr_jobs::variables::image::{Difference, How};
use scr_jobs::variables::{Kind, Told};
use std::collections::{BTreeMap, BTreeSet};

/// The program is restarted at most so often.
const MOST_RESTARTS: u32 = 40;

/// A variable that is other after the restart than undisturbed.
#[derive(Debug, Clone)]
pub(super) struct Suspect {
    /// One of its differences, for name, type and place.
    pub one: Difference,
    pub ranks: BTreeSet<usize>,
    /// Number of elements that differ, on all ranks.
    pub count: u64,
    /// It differs at the second moment, too.
    pub stays: bool,
    /// It has other values after each restart, such as a time, or what was never set.
    pub unsteady: bool,
    /// What differs may be none of its elements.
    pub doubtful: bool,
}

pub(super) struct Explanation {
    pub moments: Moments,
    /// The variables with which a restart came out right, or with fewer wrong values; empty if none were found.
    pub needed: Vec<Suspect>,
    /// What stays wrong at the second moment with the needed variables: names, and whether the program has listed them.
    pub still_wrong: BTreeMap<String, bool>,
    /// The other ones, most suspicious first.
    pub others: Vec<Suspect>,
    /// Fields that the list has, and that differ after the restart.
    pub misread: Vec<String>,
    pub lists: bool,
    /// Fields in memory that cannot be looked at.
    pub remote: Vec<String>,
    pub cut: bool,
    pub told: Told,
    /// The generators of random numbers of libraries that the program calls.
    pub generators: Vec<&'static str>,
    /// All variables were put right at once, and as much was wrong as before.
    pub unseen: bool,
    pub restarts: u32,
}

/// A part of a rank.
type Part = (usize, String);

/// Parts that are wrong: the name of each as users write it, and whether the program has listed it.
type Wrong = BTreeMap<Part, (String, bool)>;

pub(super) fn find(looks: &mut Looks<'_>, mut moments: Moments) -> Result<Explanation, Why> {
    let mut search = Search::begin(looks, &moments)?;
    let (mut needed, mut still_wrong) = search.needed(looks, &moments)?;
    if needed.is_empty() && moments.second != Second::End {
        // What is wrong shows later.
        let later = Moments {
            second: Second::End,
            ..moments.clone()
        };
        match Search::begin(looks, &later) {
            Ok(begun) => {
                (search, moments) = (begun, later);
                (needed, still_wrong) = search.needed(looks, &moments)?;
            }
            Err(Why::Unknown(_)) => {}
            Err(why) => return Err(why),
        }
    }
    let (needed, mut others): (Vec<_>, Vec<_>) =
        (search.suspects.into_iter()).partition(|(name, _)| needed.contains(name));
    others.sort_by_key(|(_, one)| one.unsteady);
    let of = |all: Vec<(String, Suspect)>| all.into_iter().map(|(_, one)| one).collect();
    Ok(Explanation {
        moments,
        needed: of(needed),
        still_wrong: still_wrong.into_values().collect(),
        others: of(others),
        misread: search.misread,
        lists: search.look.lists,
        remote: search.look.remote,
        cut: search.look.cut,
        told: search.look.told,
        generators: search.look.generators,
        unseen: search.unseen,
        restarts: search.restarts,
    })
}

struct Search {
    look: Look,
    /// The variables by their names, most suspicious first.
    suspects: Vec<(String, Suspect)>,
    /// What was right after the restart, and is wrong at the second moment.
    wrong: Wrong,
    /// What was as undisturbed after the restart.
    right: BTreeSet<Part>,
    /// Variables of frames count, too.
    locals: bool,
    /// Listed fields that differ after the restart.
    misread: Vec<String>,
    restarts: u32,
    /// All variables were put right at once, and as much was wrong as before.
    unseen: bool,
}

impl Search {
    fn begin(looks: &mut Looks<'_>, moments: &Moments) -> Result<Self, Why> {
        looks.undisturbed(moments)?;
        let look = looks.restarted(moments, &BTreeSet::new())?;
        let look = look.ok_or_else(|| {
            Why::Unknown(
                "a restart that was looked at did not come to its next checkpoint, or read none"
                    .into(),
            )
        })?;
        let differed = parts(&look.restored, |one| one.count > 0);
        let right = look.known.difference(&differed).cloned().collect();
        let mut wrong = wrong_parts(&look, &right, false);
        // A program may have its whole state in the frame of main.
        let locals = wrong.is_empty();
        if locals {
            wrong = wrong_parts(&look, &right, true);
        }
        let suspects = suspects(&look);
        let misread = look.restored.iter().filter(|(_, one)| one.listed > 0);
        let misread: BTreeSet<String> = misread.map(|(_, one)| one.leaf.shown.clone()).collect();
        Ok(Search {
            look,
            suspects,
            wrong,
            right,
            locals,
            misread: misread.into_iter().collect(),
            restarts: 1,
            unseen: false,
        })
    }

    /// What is wrong at the second moment if these variables are put right; `None` if the program did not get so far.
    fn wrong_with(
        &mut self,
        looks: &mut Looks<'_>,
        moments: &Moments,
        names: &[String],
    ) -> Result<Option<Wrong>, Why> {
        self.restarts += 1;
        let names: BTreeSet<String> = names.iter().cloned().collect();
        let look = looks.restarted(moments, &names)?;
        for (name, suspect) in &mut self.suspects {
            if let Some(look) = &look {
                suspect.see(name, &look.restored);
            }
        }
        if let Some(look) = &look {
            self.leave_out(&parts(&look.restored, |one| one.count > 0));
        }
        Ok(look.map(|look| wrong_parts(&look, &self.right, self.locals)))
    }

    /// What was never set may be other after each restart, so that it says nothing at the second moment, for no restart.
    fn leave_out(&mut self, differed: &BTreeSet<Part>) {
        self.right.retain(|part| !differed.contains(part));
        self.wrong.retain(|part, _| !differed.contains(part));
    }

    /// The fewest variables with which as much comes out right as with all of them, and what stays wrong then.
    /// Nothing is returned that was not tried: where there is no time for all restarts, there may be more than the fewest.
    fn needed(
        &mut self,
        looks: &mut Looks<'_>,
        moments: &Moments,
    ) -> Result<(Vec<String>, Wrong), Why> {
        let all: Vec<String> = self.suspects.iter().map(|(name, _)| name.clone()).collect();
        if self.wrong.is_empty() || all.is_empty() {
            return Ok((Vec::new(), self.wrong.clone()));
        }
        // A variable in a frame may be in the middle of its use, so that the program fails with another value.
        let local = |name: &String| {
            (self.suspects.iter()).any(|(one, found)| one == name && found.one.leaf.local)
        };
        let without: Vec<String> = all.iter().filter(|name| !local(name)).cloned().collect();
        let mut tried = None;
        for names in [all, without] {
            let wrong = self.wrong_with(looks, moments, &names)?;
            if self.wrong.is_empty() {
                self.unseen = false;
                return Ok((Vec::new(), Wrong::new()));
            }
            self.unseen |= wrong.is_some();
            if let Some(wrong) = wrong.filter(|wrong| wrong.len() < self.wrong.len()) {
                tried = Some((names, wrong));
                break;
            }
        }
        let Some((mut rest, least)) = tried else {
            return Ok((Vec::new(), self.wrong.clone()));
        };
        self.unseen = false;
        let mut needed: Vec<String> = Vec::new();
        loop {
            // With the first `good` of the rest it comes out right, with the first `bad` it does not.
            let (mut bad, mut good) = (0, rest.len());
            while good - bad > 1 && self.restarts < MOST_RESTARTS {
                let middle = match bad {
                    // The most suspicious one is tried alone.
                    0 if needed.is_empty() && good == rest.len() => 1,
                    _ => bad + (good - bad) / 2,
                };
                let some: Vec<String> = needed
                    .iter()
                    .chain(rest.iter().take(middle))
                    .cloned()
                    .collect();
                match self.wrong_with(looks, moments, &some)? {
                    Some(wrong) if is_within(&wrong, &least) => good = middle,
                    _ => bad = middle,
                }
            }
            rest.truncate(good);
            if self.restarts >= MOST_RESTARTS {
                needed.append(&mut rest);
            }
            let Some(last) = rest.pop() else {
                return Ok((needed, least));
            };
            needed.push(last);
            let done = rest.is_empty()
                || (self.wrong_with(looks, moments, &needed)?)
                    .is_some_and(|wrong| is_within(&wrong, &least));
            if done {
                return Ok((needed, least));
            }
        }
    }
}

fn parts(found: &Found, which: impl Fn(&Difference) -> bool) -> BTreeSet<Part> {
    let chosen = found.iter().filter(|(_, one)| which(one));
    chosen
        .map(|(rank, one)| (*rank, one.leaf.key.clone()))
        .collect()
}

/// The parts that differ, and were right after the restart. In a frame may be what is left over there, so a variable of a frame
/// counts only if it is listed, or if `locals` says so. Files with results are parts of no rank.
fn wrong_parts(look: &Look, right: &BTreeSet<Part>, locals: bool) -> Wrong {
    let counts = |one: &Difference| (locals || !one.leaf.local || one.listed > 0) && !one.doubtful;
    let wrong = look.second.iter().filter(|(_, one)| counts(one));
    let wrong = wrong.map(|(rank, one)| {
        let shown = (one.leaf.shown.clone(), one.listed > 0);
        ((*rank, one.leaf.key.clone()), shown)
    });
    let results = look.results.iter().map(|file| {
        let name = file.display().to_string();
        ((usize::MAX, name.clone()), (name, true))
    });
    wrong
        .filter(|(part, _)| right.contains(part))
        .chain(results)
        .collect()
}

/// True if nothing else is wrong than in `other`.
fn is_within(wrong: &Wrong, other: &Wrong) -> bool {
    wrong.keys().all(|part| other.contains_key(part))
}

fn suspects(look: &Look) -> Vec<(String, Suspect)> {
    let later = parts(&look.second, |_| true);
    let mut all: BTreeMap<String, Suspect> = BTreeMap::new();
    for (rank, one) in look.restored.iter().filter(|(_, one)| one.count > 0) {
        let stays = later.contains(&(*rank, one.leaf.key.clone()));
        let suspect = all
            .entry(one.leaf.shown.clone())
            .or_insert_with(|| Suspect {
                one: one.clone(),
                ranks: BTreeSet::new(),
                count: 0,
                stays: false,
                unsteady: false,
                doubtful: true,
            });
        suspect.ranks.insert(*rank);
        suspect.count += one.count;
        suspect.stays |= stays;
        suspect.doubtful &= one.doubtful;
        // That something is not there says less than its values.
        if matches!(suspect.one.how, How::Presence { .. }) && one.leaf.kind != Kind::Presence(false)
        {
            suspect.one = one.clone();
        }
    }
    let mut all: Vec<(String, Suspect)> = all.into_iter().collect();
    all.sort_by_key(|(_, one)| {
        let leaf = &one.one.leaf;
        let number = matches!(
            leaf.kind,
            Kind::Real | Kind::Complex | Kind::Signed | Kind::Unsigned
        );
        (
            one.doubtful,
            !one.stays,
            leaf.local,
            !number,
            u64::MAX - one.count,
        )
    });
    all
}

impl Suspect {
    /// Compares it with what was found after another restart.
    fn see(&mut self, name: &str, restored: &Found) {
        let own = |(rank, one): &&(usize, Difference)| {
            self.ranks.contains(rank) && one.leaf.shown == name && one.count > 0
        };
        let alike = |(_, one): &(usize, Difference)| one.how == self.one.how;
        let mut again = restored.iter().filter(own).peekable();
        self.unsteady |= again.peek().is_none() || !again.any(alike);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_other_after_each_restart_is_left_out_for_all_of_them() {
        let part = |name: &str| (0, name.to_string());
        let parts = |names: &[&str]| {
            names
                .iter()
                .map(|name| part(name))
                .collect::<BTreeSet<Part>>()
        };
        let mut search = Search {
            look: Look {
                restored: Vec::new(),
                known: BTreeSet::new(),
                second: Vec::new(),
                lists: true,
                remote: Vec::new(),
                cut: false,
                told: Told::Debug,
                generators: Vec::new(),
                results: Vec::new(),
            },
            suspects: Vec::new(),
            wrong: [(part("main::found"), ("main::found".into(), false))].into(),
            right: parts(&["main::found", "field"]),
            locals: true,
            misread: Vec::new(),
            restarts: 1,
            unseen: false,
        };
        search.leave_out(&parts(&["main::found", "history"]));
        assert_eq!(search.right, parts(&["field"]));
        assert!(search.wrong.is_empty());
    }
}
