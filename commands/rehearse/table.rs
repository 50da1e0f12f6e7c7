//! One verdict for each kill, and for each other moment of a rehearsal.

use super::proof::{bad_restarts, nothing_was_there, restart_of};
use super::rehearsal::{Part, Rehearsal, Run, ended_with_rank, title};
use super::relaunch::refusal;
use super::stage::{Ending, Launch};
use scr_engine::text::{counted, excerpt};

/// A moment, and what was seen after it.
#[derive(Debug, PartialEq)]
pub(super) struct Row {
    pub run: Run,
    /// The launch of the run that it ends, from 1 on, or that has other ranks or nodes.
    pub launch: Option<usize>,
    pub moment: String,
    /// The launch that shows what came of it, and the checkpoint that it went on from.
    pub next: Option<usize>,
    pub from: Option<String>,
    /// Number of checkpoints of that launch that were compared, and the first difference.
    pub compared: usize,
    pub other: Option<String>,
    pub verdict: RowVerdict,
    /// The reason for a verdict that is not good.
    pub why: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowVerdict {
    Recovered,
    /// It went on from a checkpoint, and nothing that it computed was compared.
    WentOn,
    /// It began from the beginning, as it must.
    Began,
    NotProven,
    NotRecovered,
    NotTried,
}

impl RowVerdict {
    pub fn words(self) -> &'static str {
        match self {
            RowVerdict::Recovered => "recovered",
            RowVerdict::WentOn => "went on",
            RowVerdict::Began => "began again",
            RowVerdict::NotProven => "not proven",
            RowVerdict::NotRecovered => "not recovered",
            RowVerdict::NotTried => "not tried",
        }
    }
}

/// All rows, in the order of the launches.
pub(super) fn rows(rehearsal: &Rehearsal) -> Vec<Row> {
    let mut rows = of_launches(rehearsal);
    if !rehearsal.launches.is_empty() {
        rows.extend(of_part(&rehearsal.relaunched, Run::Relaunched));
        rows.extend(of_part(&rehearsal.repaired, Run::Repaired));
    }
    rows
}

fn of_part(part: &Part, run: Run) -> Vec<Row> {
    let tried = match part {
        Part::NotTried(why) => return vec![untried(run, why)],
        Part::Tried(tried) => tried,
    };
    let rows = of_launches(tried);
    if !rows.is_empty() {
        return rows;
    }
    let why = tried.launches.last().and_then(refusal);
    let why = why.map(|why| format!("not launched: {why}"));
    vec![Row {
        verdict: RowVerdict::NotRecovered,
        ..untried(run, why.as_deref().unwrap_or("nothing was killed"))
    }]
}

fn of_launches(rehearsal: &Rehearsal) -> Vec<Row> {
    let launches = &rehearsal.launches;
    let mut rows = Vec::new();
    for (place, launch) in launches.iter().enumerate() {
        if let Some(kill) = &launch.kill {
            let moment = match launch.ending {
                Ending::Struck if launch.seen.begun().next().is_some() => {
                    format!("{} killed {}", kill.victim, launch.seen.phase())
                }
                _ => kill.to_string(),
            };
            rows.push(row(rehearsal, place, moment));
        }
    }
    if let Some(moment) = other_place(rehearsal) {
        let last = launches.len().saturating_sub(2);
        rows.push(row(rehearsal, last, moment));
    }
    rows
}

fn untried(run: Run, why: &str) -> Row {
    let moment = match run {
        Run::Struck => "",
        Run::Relaunched => "launch again by scr run",
        Run::Repaired => "repair in the running job",
    };
    Row {
        run,
        launch: None,
        moment: moment.to_string(),
        next: None,
        from: None,
        compared: 0,
        other: None,
        verdict: RowVerdict::NotTried,
        why: Some(why.to_string()),
    }
}

/// The ranks and nodes of the last launch, if they are others than before.
fn other_place(rehearsal: &Rehearsal) -> Option<String> {
    let (last, before) = rehearsal.launches.split_last()?;
    let before = before.last()?;
    let there = |launch: &Launch| (launch.ranks, launch.nodes);
    (there(last) != there(before)).then(|| {
        let words = |launch: &Launch| {
            let nodes = counted(launch.nodes, "node");
            format!("{} on {nodes}", counted(launch.ranks, "rank"))
        };
        format!("{} after {}", words(last), words(before))
    })
}

/// The row of the kill that ends the launch at `place`.
fn row(rehearsal: &Rehearsal, place: usize, moment: String) -> Row {
    let launches = &rehearsal.launches;
    let mut row = Row {
        launch: Some(place + 1),
        moment,
        ..untried(rehearsal.run, "")
    };
    let killed = &launches[place];
    if killed.ending != Ending::Struck {
        row.why = Some("the launch ended before".to_string());
        return row;
    }
    // A launch that is killed before it goes on shows nothing of the kill before.
    let shows = |launch: &Launch| {
        let cut_off = launch.ending == Ending::Struck && launch.seen.completed().next().is_none();
        !cut_off || restart_of(launch).is_some()
    };
    let Some(next) = (place + 1..launches.len()).find(|next| shows(&launches[*next])) else {
        row.why = Some("no launch came so far".to_string());
        return row;
    };
    row.next = Some(next + 1);
    row.from = restart_of(&launches[next]).map(str::to_string);
    let checkpoints = &rehearsal.checkpoints;
    let of_next = checkpoints.compared.iter().filter(|one| **one == next);
    row.compared = of_next.count();
    let other = checkpoints.others.iter().find(|one| one.launch == next);
    row.other = other.map(|one| format!("{}: {}: {}", one.checkpoint, one.part, one.how));
    let is_last = next + 1 == launches.len();
    let unsteady = &rehearsal.unsteady.files;
    let result = rehearsal.compared.iter().find_map(|one| {
        let other = one.other.as_ref()?;
        let counts = is_last && !unsteady.contains(&one.file);
        counts.then(|| format!("{}: {}", one.file.display(), other.how))
    });
    row.other = row.other.or(result);
    (row.verdict, row.why) = judge(rehearsal, next, &row);
    row
}

fn judge(rehearsal: &Rehearsal, next: usize, row: &Row) -> (RowVerdict, Option<String>) {
    let launch = &rehearsal.launches[next];
    let bad = bad_restarts(rehearsal, next);
    let is_last = next + 1 == rehearsal.launches.len();
    let with_scr = rehearsal.undisturbed.seen.begun().next().is_some();
    let began = with_scr && row.from.is_none() && nothing_was_there(&rehearsal.launches[..next]);
    let not_recovered = |why: &str| (RowVerdict::NotRecovered, Some(excerpt(why, 200)));
    if let Some(why) = refusal(launch) {
        return not_recovered(&format!("not launched again: {why}"));
    }
    match (&launch.ending, bad.first()) {
        (Ending::Hung, _) => not_recovered("the launch hangs"),
        (Ending::Code(code), _) if *code != 0 && ended_with_rank(rehearsal.run, launch) => {
            not_recovered("the launch ended with the rank")
        }
        (Ending::Code(code), _) if *code != 0 => not_recovered(&format!("exit code {code}")),
        (Ending::TooEarly(code), None) if *code != 0 => not_recovered(&format!("exit code {code}")),
        _ if row.other.is_some() => (RowVerdict::NotRecovered, None),
        _ if began => (RowVerdict::Began, None),
        (_, Some(_)) if !with_scr && rehearsal.says.is_none() => (
            RowVerdict::NotProven,
            Some("nothing of SCR was seen".into()),
        ),
        (_, Some(bad)) => not_recovered(&bad.what),
        _ if with_scr && row.from.is_none() => not_recovered("it began from the beginning"),
        _ if rehearsal.is_not_reproducible() => {
            (RowVerdict::NotProven, Some("not reproducible".into()))
        }
        _ if with_scr && rehearsal.restarts_from_the_last_only() => (
            RowVerdict::NotProven,
            Some("killed after the last checkpoint".into()),
        ),
        _ if row.compared == 0 && (!is_last || rehearsal.compared.is_empty()) => {
            (RowVerdict::WentOn, None)
        }
        _ => (RowVerdict::Recovered, None),
    }
}

/// The table for people.
pub(super) fn lines(rehearsal: &Rehearsal) -> Vec<String> {
    // The last launch of a run, if results were compared after it.
    let compared = |run| {
        let mut all = std::iter::once(rehearsal).chain(rehearsal.parts());
        let run = all.find(|one| one.run == run)?;
        (!run.compared.is_empty()).then_some(run.launches.len())
    };
    let mut cells = vec![["MOMENT", "WENT ON FROM", "COMPARED", "VERDICT"].map(String::from)];
    for row in rows(rehearsal) {
        let launch = row.launch.map(|number| title(row.run, number) + ": ");
        let compared = match (&row.other, row.compared) {
            (Some(_), _) => "different".to_string(),
            (None, 0) if row.next.is_some() && row.next == compared(row.run) => {
                "results same".to_string()
            }
            (None, 0) => "-".to_string(),
            (None, count) => format!("{} same", counted(count, "checkpoint")),
        };
        let why = row.why.map(|why| format!(": {why}"));
        cells.push([
            format!("{}{}", launch.unwrap_or_default(), row.moment),
            row.from.unwrap_or_else(|| "-".to_string()),
            compared,
            format!("{}{}", row.verdict.words(), why.unwrap_or_default()),
        ]);
    }
    if cells.len() == 1 {
        return Vec::new();
    }
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max();
    let widths = [0, 1, 2].map(|column| width(column).unwrap_or(0));
    let line = |[a, b, c, d]: &[String; 4]| {
        format!(
            "{a:<0$}  {b:<1$}  {c:<2$}  {d}",
            widths[0], widths[1], widths[2]
        )
    };
    cells.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::checkpoints::{Checkpoints, Other};
    use super::super::plan::{Awaited, Kill, Victim};
    use super::super::seen::{Checkpoint, Restart, Seen, Sessions};
    use super::*;

    /// A launch that goes on from a checkpoint, writes another one, and is killed unless it is the last.
    fn launch(read: Option<&str>, written: Option<&str>, is_last: bool) -> Launch {
        let seen = Seen {
            begun: true,
            completed: written
                .map(|name| Checkpoint {
                    name: name.into(),
                    ..Checkpoint::default()
                })
                .into_iter()
                .collect(),
            restart: read.map(|name| Restart {
                name: name.into(),
                at: 1.0,
                why_not: None,
                from: "from the cache".into(),
            }),
            ..Seen::default()
        };
        let kill = Kill {
            victim: Victim::Rank(1),
            awaited: Awaited::Start,
            delay: 0.5,
        };
        Launch {
            ending: if is_last {
                Ending::Code(0)
            } else {
                Ending::Struck
            },
            kill: (!is_last).then_some(kill),
            started: 4,
            ranks: 4,
            nodes: 2,
            seconds: 2.0,
            begun: 0.0,
            ended: 2.0,
            stacks: Vec::new(),
            log: "log".into(),
            seen: Sessions([(String::new(), seen)].into()),
        }
    }

    fn rehearsal() -> Rehearsal {
        Rehearsal {
            launches: vec![
                launch(None, None, false),
                launch(None, Some("ck.1"), false),
                launch(None, None, false),
                launch(Some("ck.1"), Some("ck.2"), false),
                launch(Some("ck.2"), Some("ck.3"), true),
            ],
            checkpoints: Checkpoints {
                compared: vec![4],
                ..Checkpoints::default()
            },
            ..Rehearsal::new(launch(None, Some("ck.1"), true), false, None)
        }
    }

    #[test]
    fn each_kill_has_a_verdict() {
        let told = |rehearsal: &Rehearsal| -> Vec<(Option<usize>, &'static str)> {
            let rows = rows(rehearsal).into_iter();
            rows.map(|row| (row.next, row.verdict.words())).collect()
        };
        let mut all = rehearsal();
        let first = [
            // Nothing was there; killed before it went on; nothing was compared; all is the same.
            (Some(2), "began again"),
            (Some(4), "went on"),
            (Some(4), "went on"),
            (Some(5), "recovered"),
        ];
        let untried = [(None, "not tried"), (None, "not tried")];
        assert_eq!(told(&all), [&first[..], &untried].concat());
        all.checkpoints.others.push(Other {
            checkpoint: "ck.3".into(),
            part: "sum".into(),
            launch: 4,
            how: "differs".into(),
            greatest: None,
        });
        assert_eq!(told(&all)[3], (Some(5), "not recovered"));
        assert_eq!(told(&all)[2], (Some(4), "went on"));
        // Another number of ranks is a moment of its own.
        let mut all = rehearsal();
        all.launches[4].ranks = 3;
        assert_eq!(told(&all)[4], (Some(5), "recovered"));
        assert_eq!(
            rows(&all)[4].moment,
            "3 ranks on 2 nodes after 4 ranks on 2 nodes"
        );
        // The last launch reads nothing, and begins from the beginning although something was there.
        let mut all = rehearsal();
        all.launches[4] = launch(None, Some("ck.1"), true);
        assert_eq!(told(&all)[3], (Some(5), "not recovered"));
    }
}
