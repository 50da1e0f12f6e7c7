//! The worst stories of the field, with as many ranks as it happened to: what becomes of a job, how long it takes,
//! and what the user is told. A small job is always tried; `SCR_SIM_RANKS=24576` is the whole one, and
//! `SCR_WRITE_DOCS=1` enters its story in `tests/scaling/stories.md`.

use crate::faults::{Budget, FaultScope, Only};
use crate::job::PREFIX;
use crate::places::LOCAL;
use crate::timed::{OPERATION, Rank, TimedJob};
use scr::store::Files;
use scr::system::simulated::Random;
use scr::system::simulated::scheduler::Simulation;
use std::path::Path;

/// Ranks on each node.
const ON_NODE: usize = 8;

/// Two checkpoints, both in the caches with XOR and in the prefix directory.
fn writes(rank: &mut Rank) -> String {
    rank.write("ck.1");
    rank.write("ck.2");
    "has written ck.1 and ck.2".to_string()
}

/// All stories, one after the other on the same two checkpoints. Returns the text, and what should be otherwise.
fn stories(ranks: usize) -> (String, Vec<String>) {
    let simulation = Simulation::new(1);
    simulation.make_parallel();
    let settings = [
        ("SCR_COPY_TYPE", "XOR"),
        ("SCR_CACHE_SIZE", "2"),
        ("SCR_CACHE_BYPASS", "0"),
        ("SCR_FLUSH", "1"),
    ];
    let nodes: Vec<_> = (0..ranks / ON_NODE)
        .map(|node| (format!("n{node}"), ON_NODE))
        .collect();
    let mut job = TimedJob::new(&nodes, &settings);
    job.files(0).make_dirs(Path::new(PREFIX)).unwrap();
    let (nodes, victim) = (job.nodes(), ranks / 2 + 3);
    let node = victim / ON_NODE;
    job.tell(format!("{ranks} ranks on {nodes} nodes"));
    job.run(
        &simulation,
        "The job writes two checkpoints, and is killed",
        writes,
    );
    let written = job.volumes();

    job.lose_all_nodes();
    job.damage(0, PREFIX, &format!("ck.2/rank_{victim}"));
    let title =
        "In a new allocation, one file of the newest checkpoint in the prefix directory is damaged";
    let said = job.run(&simulation, title, Rank::restart);
    job.told_once(&said, &[&format!("rank_{victim}")]);
    job.ends_with("goes on from ck.1");

    job.set_volumes(&written);
    job.damage(node, LOCAL, &format!("ck.2/rank_{victim}"));
    job.run(
        &simulation,
        "On the same nodes, one file in a cache is damaged",
        Rank::restart,
    );
    job.ends_with("goes on from ck.2");

    job.set_volumes(&written);
    job.lose_all_nodes();
    let only = Only {
        node: Some(node),
        place: Some(FaultScope::Prefix),
        action: Some("read"),
    };
    let budget = Budget {
        one_in: 1,
        left: u64::MAX,
        only,
        ..Budget::default()
    };
    job.faults.set(budget, None);
    let title = "In a new allocation, one node cannot read from the prefix directory";
    let said = job.run(&simulation, title, Rank::restart);
    job.told_once(&said, &[&format!("n{node}")]);
    job.faults.set(Budget::default(), None);
    job.run(
        &simulation,
        "The job is started again, and the node can read",
        Rank::restart,
    );
    job.ends_with("goes on from ck.2");

    job.set_volumes(&written);
    job.lose_all_nodes();
    job.faults.serve(100 * OPERATION);
    let title = "In a new allocation, the file system does 1,000 operations a second, not 100,000";
    job.run(&simulation, title, Rank::restart);
    job.ends_with("goes on from ck.2");

    let lost = nodes.div_ceil(100);
    job.set_volumes(&written);
    let mut random = Random::new(1);
    job.lose_nodes((0..lost).map(|_| random.below(nodes as u64) as usize));
    let title = format!("1 % of the nodes, {lost}, are lost, drawn by lot");
    job.run(&simulation, &title, Rank::restart);
    job.ends_with("goes on from ck.2");

    job.set_volumes(&written);
    job.lose_nodes(5..5 + lost.max(2));
    let title = format!("{} nodes are lost that are side by side", lost.max(2));
    job.run(&simulation, &title, Rank::restart);
    job.ends_with("goes on from ck.2");
    (job.text.join("\n"), job.wrong)
}

#[test]
fn the_worst_stories_end_well_and_are_told_once() {
    let ranks = std::env::var("SCR_SIM_RANKS").map_or(192, |ranks| ranks.parse().unwrap());
    let (text, wrong) = stories(ranks);
    assert!(wrong.is_empty(), "{wrong:#?}");
    if std::env::var_os("SCR_WRITE_DOCS").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scaling/stories.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once("<!-- stories -->\n").unwrap();
        let (_, after) = rest.split_once("<!-- end of stories -->\n").unwrap();
        let stories =
            format!("<!-- stories -->\n\n```text\n{text}\n```\n\n<!-- end of stories -->\n");
        std::fs::write(&path, format!("{before}{stories}{after}")).unwrap();
    }
}
