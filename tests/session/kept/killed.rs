//! SIGKILL at random moments. `SCR_TEST_KILLS`: so many for each scheme.

use super::{COUNT, Program, read, site, write};
use crate::fields_on_ranks::Random;
use crate::site::nodes;
use std::time::Duration;

const KILLS: u64 = 4;

fn kills() -> u64 {
    let kills = std::env::var("SCR_TEST_KILLS").ok();
    kills.map_or(KILLS, |text| text.parse().expect("a number of kills"))
}

/// Each time the next process restores what the one before has completed, or something newer, and goes on over it.
#[test]
fn a_program_that_is_killed_while_it_stores_loses_nothing() {
    for scheme in ["XOR", "PARTNER", "RS", "SINGLE"] {
        let Some(site) = site(scheme) else { return };
        let mut random = Random(std::process::id().into());
        let (mut nodes, mut last) = (nodes(3), 0);
        for kill in 0..kills() {
            let mut program = Program::start(&site, &nodes, None);
            let restored = program.restored();
            assert!(
                restored >= last,
                "{scheme}, kill {kill}: {restored}, not {last}"
            );
            last = restored;
            program.go(1_000_000, COUNT);
            // Files are mapped from the third one on.
            for _ in 0..3 + random.below(3) {
                last = program.completed();
            }
            std::thread::sleep(Duration::from_micros(random.below(40_000)));
            let (told, signal) = program.kill();
            assert_eq!(signal, Some(libc::SIGKILL));
            for line in told {
                // The last line may have come before the kill only in part.
                let step = line
                    .strip_prefix("complete ")
                    .and_then(|step| step.parse().ok());
                last = step.unwrap_or(last);
            }
            if scheme != "SINGLE" && kill % 2 == 1 {
                let (lost, new) = (nodes[1], ["n1", "n4"][usize::from(nodes[1] == "n1")]);
                site.lose(lost);
                nodes[1] = new;
            }
        }
        let restored = site.run(&nodes, |rank| {
            let restored = read(rank).unwrap();
            (1..4).for_each(|more| write(rank, restored + more, COUNT).unwrap());
            restored
        });
        assert!(
            restored.iter().all(|step| *step >= last),
            "{scheme}: {restored:?}, not {last}"
        );
    }
}
