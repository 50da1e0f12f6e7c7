//! Random programs, compared with a model: the state of the last checkpoints as one whole array each.

use super::{array, load, programs, save};
use crate::fields_on_ranks::{self, Devices, Part, Random, cut, list_part};
use crate::site::{Rank, Site, nodes};
use scr::fields::Place;

/// The fields of one checkpoint: name, whole, a number that its elements have in common.
type Fields = Vec<(String, Vec<i64>, f64)>;

fn element(index: usize, add: f64) -> f64 {
    index as f64 + add
}

fn elements(whole: &[i64], part: &Part, add: f64) -> Vec<f64> {
    let numbers = fields_on_ranks::elements(whole, part, 0.0);
    numbers
        .into_iter()
        .map(|number| element(number as usize, add))
        .collect()
}

/// A job of a random program: fields that come and go, boxes that change, ranks that change.
struct Program {
    random: Random,
    fields: Fields,
    step: u64,
}

impl Program {
    fn change(&mut self) {
        let random = &mut self.random;
        if self.fields.is_empty() || random.below(3) == 0 {
            let dims = 1 + random.below(4) as usize;
            let whole = (0..dims).map(|_| 1 + random.below(9) as i64).collect();
            self.fields.push((format!("f{}", self.step), whole, 0.0));
        } else if self.fields.len() > 1 && random.below(4) == 0 {
            self.fields
                .remove(random.below(self.fields.len() as u64) as usize);
        } else if random.below(3) == 0 {
            // Reallocated with other extents.
            let which = random.below(self.fields.len() as u64) as usize;
            let whole = &mut self.fields[which].1;
            whole[0] = 1 + random.below(9) as i64;
        }
        self.step += 1;
        for (number, (.., add)) in self.fields.iter_mut().enumerate() {
            *add = (self.step * 1000 + number as u64) as f64;
        }
    }

    fn cut(&mut self, ranks: usize) -> Vec<Vec<Part>> {
        let fields = self.fields.clone();
        fields
            .iter()
            .map(|(_, whole, _)| cut(whole, ranks, &mut self.random))
            .collect()
    }
}

/// Some fields of a rank are on devices: others when they are read than when they were written.
fn with_devices(rank: &Rank, step: u64, reads: bool) {
    Devices::some(2 * (step * 8 + rank.rank as u64) + u64::from(reads)).use_now();
}

fn write(rank: &mut Rank, fields: &Fields, parts: &[Vec<Part>], step: u64, fail: bool) -> bool {
    with_devices(rank, step, false);
    let me = rank.rank;
    let mut data: Vec<Vec<f64>> = fields
        .iter()
        .zip(parts)
        .map(|((_, whole, add), parts)| elements(whole, &parts[me], *add))
        .collect();
    let saved = save(rank, &format!("ck.{step}"), |list| {
        array(list, "step", &mut [step], Place::Same)?;
        for (((name, whole, _), parts), data) in fields.iter().zip(parts).zip(&mut data) {
            list_part(list, name, whole, &parts[me], data)?;
        }
        if fail && me == 0 {
            Err(scr::Error::usage(
                "SCR_Checkpoint",
                "the routine returned 1",
            ))
        } else {
            Ok(())
        }
    });
    saved.is_ok()
}

fn read(rank: &mut Rank, fields: &Fields, parts: &[Vec<Part>], step: u64) {
    with_devices(rank, step, true);
    let me = rank.rank;
    let mut data: Vec<Vec<f64>> = fields
        .iter()
        .zip(parts)
        .map(|((_, whole, _), parts)| vec![-1.0; elements(whole, &parts[me], 0.0).len()])
        .collect();
    let mut found = [0u64];
    let name = load(rank, |list| {
        array(list, "step", &mut found, Place::Same)?;
        for (((name, whole, _), parts), data) in fields.iter().zip(parts).zip(&mut data) {
            list_part(list, name, whole, &parts[me], data)?;
        }
        Ok(())
    });
    assert_eq!(name.unwrap(), Some(format!("ck.{step}")));
    assert_eq!(found, [step]);
    for (((name, whole, add), parts), data) in fields.iter().zip(parts).zip(&data) {
        let right = elements(whole, &parts[me], *add);
        assert!(*data == right, "{name} of step {step} on rank {me}");
    }
}

fn run(seed: u64) {
    let mut program = Program {
        random: Random(seed),
        fields: Vec::new(),
        step: 0,
    };
    let site = Site::in_memory()
        .set("SCR_CACHE_SIZE", "2")
        .set("SCR_COPY_TYPE", "XOR");
    let flush = ["0", "1", "2"][program.random.below(3) as usize];
    let site = site.set("SCR_FLUSH", flush);
    let mut saved: Option<(u64, Fields)> = None;
    let mut ranks = 2 + program.random.below(4) as usize;
    for _ in 0..1 + program.random.below(4) {
        if flush == "1" {
            // What only the cache has needs its nodes.
            ranks = 1 + program.random.below(5) as usize;
        }
        let wanted = saved.clone().map(|(step, fields)| {
            let parts: Vec<Vec<Part>> = fields
                .iter()
                .map(|(_, whole, _)| cut(whole, ranks, &mut program.random))
                .collect();
            (step, fields, parts)
        });
        let mut writes = Vec::new();
        for _ in 0..program.random.below(4) {
            program.change();
            let fail = program.random.below(5) == 0;
            let parts = program.cut(ranks);
            writes.push((program.step, program.fields.clone(), parts, fail));
        }
        site.run(&nodes(ranks), |rank| {
            match &wanted {
                Some((step, fields, parts)) => read(rank, fields, parts, *step),
                None => assert_eq!(load(rank, |_| Ok(())).unwrap(), None),
            }
            for (step, fields, parts, fail) in &writes {
                assert_eq!(
                    write(rank, fields, parts, *step, *fail),
                    !fail,
                    "step {step}"
                );
            }
        });
        let last = writes.iter().rfind(|(.., fail)| !fail);
        if let Some((step, fields, ..)) = last {
            saved = Some((*step, fields.clone()));
        }
        let lost = program.random.below(6) as usize;
        if lost < ranks && ranks > 1 {
            site.lose(nodes(ranks)[lost]);
        }
    }
}

#[test]
fn random_programs_restore_what_they_wrote_last() {
    for seed in programs(150) {
        run(seed);
    }
}
