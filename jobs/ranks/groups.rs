//! Puts ranks that do the same into groups, so that a few lines show the stacks of a whole job.

use super::{Frame, NodeReport, RankProcess};
use crate::hostlist::{compress, unique};
use scr_engine::text::{self, counted, escaped, plural};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The most functions that a line of the summary shows.
const SHOWN: usize = 4;

/// The most ranges of ranks that a line of the summary shows.
const RANGES: usize = 8;

/// Ranks that do the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Group<'a> {
    /// The activity of the ranks, in words.
    pub what: String,
    /// The functions of the program that lead there, innermost first.
    pub path: Vec<&'a str>,
    /// The processes.
    pub members: Vec<&'a RankProcess>,
}

/// Puts the processes into groups, the largest first; groups of one size are in the order of their
/// lowest ranks.
///
/// Functions within a call of MPI or of this library are left out. So ranks that wait in the same call are in
/// one group, even if they were seen at different places of its polling loop.
pub fn groups(processes: &[RankProcess]) -> Vec<Group<'_>> {
    let mut by_key: BTreeMap<(String, Vec<&str>), Vec<&RankProcess>> = BTreeMap::new();
    for one in processes {
        by_key.entry(what(one)).or_default().push(one);
    }
    let mut all: Vec<Group<'_>> = by_key
        .into_iter()
        .map(|((what, path), members)| Group {
            what,
            path,
            members,
        })
        .collect();
    let first = |group: &Group<'_>| group.members.first().map(|one| (one.rank, one.pid));
    all.sort_by_key(|group| (usize::MAX - group.members.len(), first(group)));
    all
}

/// The ranks that the launcher has started and that have no process.
pub fn missing(processes: &[RankProcess]) -> Vec<usize> {
    let ranks = processes.iter().filter_map(|one| one.ranks).max();
    let there: BTreeSet<usize> = processes.iter().filter_map(|one| one.rank).collect();
    let all = 0..ranks.unwrap_or(0);
    all.filter(|rank| !there.contains(rank)).collect()
}

/// Writes ascending ranks as ranges, such as `0-2, 4, 7`.
fn ranges(ranks: &[usize]) -> String {
    let mut all: Vec<(usize, usize)> = Vec::new();
    for &rank in ranks {
        match all.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => all.push((rank, rank)),
        }
    }
    let shown = all
        .iter()
        .take(RANGES)
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            _ => format!("{first}-{last}"),
        });
    let mut shown: Vec<String> = shown.collect();
    if all.len() > RANGES {
        shown.push("...".to_string());
    }
    shown.join(", ")
}

/// True for a call of MPI, or of this library.
pub(super) fn is_call(function: &str) -> bool {
    let name = function.strip_prefix(['P', 'p']).unwrap_or(function);
    let of_mpi = name.starts_with("MPI_") || name.starts_with("mpi_");
    of_mpi || is_call_of_scr(function)
}

/// True for a call of this library.
fn is_call_of_scr(function: &str) -> bool {
    ["SCR_", "scr_", "scrf::"]
        .iter()
        .any(|begin| function.starts_with(begin))
}

/// The outermost call in a stack: its name, and the frames after it.
fn call_in(stack: &[Frame]) -> Option<(&str, &[Frame])> {
    let at = stack.iter().rposition(|frame| is_call(&frame.function))?;
    Some((&stack.get(at)?.function, stack.get(at + 1..)?))
}

/// The call of another thread, if it tells more than the call of the first thread. The call of another thread tells
/// more if it is a call of this library. If the first thread is in no call, a call of MPI also tells more.
fn telling_thread(one: &RankProcess) -> Option<(&str, &[Frame])> {
    let first = call_in(&one.stack);
    if first.is_some_and(|(call, _)| is_call_of_scr(call)) {
        return None;
    }
    let calls = || one.other_threads.iter().filter_map(|stack| call_in(stack));
    let of_scr = calls().find(|(call, _)| is_call_of_scr(call));
    of_scr.or_else(|| calls().next().filter(|_| first.is_none()))
}

/// The name of a call as C programs know it, such as `MPI_Barrier`. Libraries have several names
/// for the same call.
fn name_of_call(function: &str) -> String {
    let name = function
        .strip_prefix("PMPI")
        .map(|rest| format!("MPI{rest}"));
    let name = name.unwrap_or_else(|| function.to_string());
    let fortran = name.strip_prefix("mpi_").or(name.strip_prefix("pmpi_"));
    match fortran {
        Some(rest) => {
            let rest = rest.trim_end_matches('_').trim_end_matches("_f08");
            let mut letters = rest.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            format!("MPI_{}{}", first.unwrap_or_default(), letters.as_str())
        }
        None => name,
    }
}

/// True for a function of the system, in which any program may wait or compute. Such functions do not tell
/// ranks apart.
fn is_of_system(frame: &Frame) -> bool {
    let place = frame.place.as_deref().unwrap_or_default();
    frame.function.starts_with("__") || frame.function == "?" || place.contains("sysdeps")
}

/// The activity of a rank, and the functions that lead there.
fn what(one: &RankProcess) -> (String, Vec<&str>) {
    let (call, thread) = (call_in(&one.stack), telling_thread(one));
    let (frames, skipped) = match (call, thread) {
        (Some((_, after)), _) | (None, Some((_, after))) => (after, 0),
        (None, None) => {
            let system = one.stack.iter().take_while(|frame| is_of_system(frame));
            (&one.stack[..], system.count())
        }
    };
    let path = frames.iter().skip(skipped).map(|frame| &*frame.function);
    let waits = || one.waits.as_deref().map(|waits| format!(" ({waits})"));
    let mut told = match (one.state, call) {
        ('T', _) => "stopped by a signal".to_string(),
        ('Z' | 'X', _) => "has ended, and was not waited for".to_string(),
        ('D', _) => format!("waits in the kernel{}", waits().unwrap_or_default()),
        (_, Some((call, _))) => format!("in {}", name_of_call(call)),
        _ if one.stack.is_empty() => format!("no stack{}", waits().unwrap_or_default()),
        _ => "in the program itself".to_string(),
    };
    if let Some((call, _)) = thread {
        told += &format!(", a thread in {}", name_of_call(call));
    }
    (told, path.collect())
}

impl Group<'_> {
    /// One line, such as `6 ranks (0-3, 6-7; n[0-1,3]): in MPI_Barrier < exchange < main`.
    fn line(&self) -> String {
        let ranks: Vec<usize> = self.members.iter().filter_map(|one| one.rank).collect();
        let unknown = self.members.iter().filter(|one| one.rank.is_none());
        let mut who: Vec<String> = unknown.map(|one| format!("process {}", one.pid)).collect();
        if !ranks.is_empty() {
            who.insert(0, ranges(&ranks));
        }
        let nodes = unique(self.members.iter().map(|one| one.node.clone()).collect());
        let mut line = format!(
            "{} ({}; {}): {}",
            counted(self.members.len(), "rank"),
            who.join(", "),
            compress(&nodes),
            self.what
        );
        for function in self.path.iter().take(SHOWN) {
            line += " < ";
            line += function;
        }
        if self.path.len() > SHOWN {
            line += " < ...";
        }
        escaped(&line).into_owned()
    }

    /// The share of a processor that each of its ranks used, on average.
    fn processor(&self) -> f64 {
        let all: f64 = self.members.iter().map(|one| one.processor).sum();
        all / self.members.len().max(1) as f64
    }
}

/// A summary of the ranks of a job, in at most `most` lines: the group that most ranks are in, then the others, marked
/// with a star (all groups if no group is the largest), then missing ranks and nodes. `silent`: nodes that did not
/// answer, each with the reason.
pub fn summary(processes: &[RankProcess], silent: &[(String, String)], most: usize) -> Vec<String> {
    let (all, missing) = (groups(processes), missing(processes));
    let mut rest = Vec::new();
    if !missing.is_empty() {
        let (words, have, are) = match missing.len() {
            1 => ("rank", "has", "is"),
            _ => ("ranks", "have", "are"),
        };
        let or = if silent.is_empty() {
            String::new()
        } else {
            format!(", or {are} on a node that does not answer")
        };
        let ranks = ranges(&missing);
        rest.push(format!("* {words} {ranks} {have} no process any more{or}"));
    }
    let more = most.saturating_sub(1 + rest.len());
    for (node, why) in silent.iter().take(more.div_ceil(2)) {
        rest.push(escaped(&format!("* node {node} does not answer: {why}")).into_owned());
    }
    let room = most.saturating_sub(1 + rest.len()).max(1);
    let nodes: BTreeSet<&str> = processes.iter().map(|one| &*one.node).collect();
    let mut lines = vec![format!(
        "{} on {} in {}",
        counted(processes.len(), "rank"),
        counted(nodes.len(), "node"),
        counted(all.len(), "group")
    )];
    let shown = if all.len() > room { room - 1 } else { room };
    // If two groups are the largest, it is not known which of them is right.
    let size = |place: usize| all.get(place).map_or(0, |group| group.members.len());
    let one_largest = size(0) > size(1);
    for (place, group) in all.iter().enumerate().take(shown) {
        let mark = if place == 0 && one_largest { " " } else { "*" };
        lines.push(format!("{mark} {}", group.line()));
    }
    if all.len() > shown {
        let more = all.len() - shown;
        lines.push(format!("* {more} more {}", plural(more, "group")));
    }
    lines.extend(rest);
    lines
}

/// All that is known, as text for people: each group with a whole stack, each rank, each node.
pub fn page(
    reports: &[NodeReport],
    processes: &[RankProcess],
    silent: &[(String, String)],
) -> String {
    let mut page = String::new();
    for line in summary(processes, silent, usize::MAX) {
        let _ = writeln!(page, "{line}");
    }
    for (number, group) in groups(processes).iter().enumerate() {
        let share = group.processor() * 100.0;
        let _ = writeln!(
            page,
            "\ngroup {}: {}; {share:.0} % of a processor each",
            number + 1,
            group.line()
        );
        let whole = group.members.iter().max_by_key(|one| one.stack.len());
        for (depth, frame) in whole.iter().flat_map(|one| &one.stack).enumerate() {
            let place = frame.place.as_ref().map(|place| format!(" at {place}"));
            let line = format!("  #{depth} {}{}", frame.function, place.unwrap_or_default());
            let _ = writeln!(page, "{}", escaped(&line));
        }
        for thread in whole.iter().flat_map(|one| &one.other_threads) {
            let names: Vec<&str> = thread.iter().map(|frame| &*frame.function).collect();
            let line = format!("  another thread: {}", names.join(" < "));
            let _ = writeln!(page, "{}", escaped(&line));
        }
    }
    let _ = writeln!(page, "\nranks");
    for one in processes {
        let rank = one.rank.map_or("?".to_string(), |rank| rank.to_string());
        let mut line = format!(
            "  {rank} on {}, process {} ({}): state {}, {}, {}, {:.0} % of a processor",
            one.node,
            one.pid,
            one.program,
            one.state,
            counted(one.threads as usize, "thread"),
            text::bytes(one.memory),
            one.processor * 100.0,
        );
        if let Some(waits) = &one.waits {
            line += &format!(", waits: {waits}");
        }
        if let Some(why) = &one.no_stack {
            line += &format!("; no stack: {why}");
        }
        if !one.files.is_empty() {
            line += &format!("; open: {}", one.files.join(" "));
        }
        let _ = writeln!(page, "{}", escaped(&line));
    }
    let _ = writeln!(page, "\nnodes");
    for NodeReport {
        node, load, free, ..
    } in reports
    {
        let line = format!(
            "  {node}: load {load}, {} of memory available",
            text::bytes(*free)
        );
        let _ = writeln!(page, "{}", escaped(&line));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::{groups, missing, page, summary};
    use crate::ranks::{Frame, NodeReport, RankProcess};

    /// Rank `rank` of 8, two on each node, with these functions, innermost first.
    fn rank(rank: usize, functions: &[&str]) -> RankProcess {
        let frame = |name: &&str| Frame {
            function: name.to_string(),
            place: None,
        };
        RankProcess {
            rank: Some(rank),
            ranks: Some(8),
            node: format!("n{}", rank / 2),
            pid: 100 + rank as u32,
            program: "heat".to_string(),
            state: 'R',
            threads: 1,
            stack: functions.iter().map(frame).collect(),
            ..RankProcess::default()
        }
    }

    fn job() -> Vec<RankProcess> {
        let mut all: Vec<RankProcess> = (0..8)
            .map(|number| match number % 2 {
                0 => rank(
                    number,
                    &["poll", "MPIDI_progress", "PMPI_Barrier", "step", "main"],
                ),
                _ => rank(
                    number,
                    &["sched_yield", "internal", "MPI_Barrier", "step", "main"],
                ),
            })
            .collect();
        all[3] = rank(3, &["__sin_fma", "smooth", "step", "main"]);
        all[5].state = 'T';
        all.remove(6);
        all
    }

    #[test]
    fn ranks_in_the_same_call_are_alike_and_the_others_are_named_with_their_nodes() {
        let processes = job();
        let lines = summary(&processes, &[], 10);
        assert_eq!(
            lines,
            [
                "7 ranks on 4 nodes in 3 groups",
                "  5 ranks (0-2, 4, 7; n[0-3]): in MPI_Barrier < step < main",
                "* 1 rank (3; n1): in the program itself < smooth < step < main",
                "* 1 rank (5; n2): stopped by a signal < step < main",
                "* rank 6 has no process any more",
            ]
        );
        assert_eq!(missing(&processes), [6]);
    }

    #[test]
    fn a_thread_that_waits_in_a_call_of_this_library_is_told() {
        let mut processes: Vec<RankProcess> = (0..3)
            .map(|number| rank(number, &["poll", "MPI_Recv", "halo", "main"]))
            .collect();
        let thread = |functions| rank(0, functions).stack;
        processes[0].other_threads = vec![thread(&["poll", "SCR_Start_output", "write", "run"])];
        processes[1].other_threads = vec![thread(&["poll", "MPI_Wait", "run"])];
        processes[2].stack = thread(&["__sin_fma", "smooth", "main"]);
        processes[2].other_threads = vec![thread(&["poll", "SCR_Start_output", "write", "run"])];
        let lines = summary(&processes, &[], 10);
        assert_eq!(
            lines[1..4],
            [
                "* 1 rank (0; n0): in MPI_Recv, a thread in SCR_Start_output < halo < main",
                "* 1 rank (1; n0): in MPI_Recv < halo < main",
                "* 1 rank (2; n1): in the program itself, a thread in SCR_Start_output < write < run",
            ]
        );
        assert!(page(&[], &processes, &[]).contains("another thread: poll < SCR_Start_output"));
    }

    #[test]
    fn there_are_no_more_lines_than_asked_for() {
        let differ = |number: usize| rank(number, &[["a", "b", "c", "d"][number % 4], "main"]);
        let processes: Vec<RankProcess> = (0..8).map(differ).collect();
        let silent: Vec<(String, String)> = (0..40)
            .map(|node| (format!("m{node}"), "no answer".to_string()))
            .collect();
        for most in 2..12 {
            let lines = summary(&processes, &silent, most);
            assert!(lines.len() <= most.max(3), "{most}: {lines:#?}");
        }
        assert_eq!(summary(&processes, &[], 4)[3], "* 2 more groups");
        assert_eq!(groups(&[]), []);
        assert_eq!(summary(&[], &[], 10), ["0 ranks on 0 nodes in 0 groups"]);
    }

    /// The text of docs/running-jobs.md.
    #[test]
    fn a_job_of_64_nodes_fits_into_ten_lines() {
        let wait = ["poll", "progress", "PMPI_Allreduce", "dot", "solve", "main"];
        let mut processes: Vec<RankProcess> = (0..512)
            .map(|number| RankProcess {
                ranks: Some(512),
                node: format!("n{}", number / 8),
                ..rank(number, &wait)
            })
            .collect();
        let mut does = |number: usize, functions: &[&str]| {
            processes[number].stack = rank(number, functions).stack;
        };
        does(139, &["__exp_fma", "react", "chemistry", "step", "main"]);
        does(
            70,
            &["poll", "progress", "PMPI_Recv", "halo", "step", "main"],
        );
        does(
            71,
            &["poll", "progress", "PMPI_Recv", "halo", "step", "main"],
        );
        processes[300].state = 'T';
        processes[201].stack.clear();
        processes[201].state = 'D';
        processes.retain(|one| one.node != "n40" && one.rank != Some(433));
        let silent = [("n40".to_string(), "no answer within 60 s".to_string())];
        assert_eq!(
            summary(&processes, &silent, 10),
            include_str!("sixty_four_nodes.txt")
                .lines()
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn fortran_names_of_calls_are_those_of_mpi() {
        for (symbol, name) in [
            ("mpi_allreduce_", "in MPI_Allreduce"),
            ("pmpi_allreduce_", "in MPI_Allreduce"),
            ("mpi_barrier_f08_", "in MPI_Barrier"),
            ("PMPI_Wait", "in MPI_Wait"),
            ("SCR_Complete_output", "in SCR_Complete_output"),
        ] {
            let one = [rank(0, &["poll", symbol, "main"])];
            assert_eq!(groups(&one)[0].what, name);
        }
    }

    #[test]
    fn the_page_has_every_rank_and_shows_what_others_named_without_control_characters() {
        let mut processes = job();
        processes[0].program = "evil\x1b[31m".to_string();
        processes[0].no_stack = Some("ptrace is not permitted here".to_string());
        processes[0].waits = Some("read of /p/ck".to_string());
        let reports = [NodeReport {
            node: "n0".to_string(),
            load: "1.0 2.0 3.0".to_string(),
            free: 1 << 30,
            processes: Vec::new(),
        }];
        let page = page(&reports, &processes, &[]);
        assert!(!page.contains('\x1b'));
        for text in [
            "group 3:",
            "  #1 smooth",
            "process 107",
            "waits: read of /p/ck",
            "load 1.0 2.0 3.0",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
    }
}
