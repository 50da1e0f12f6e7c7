//! Where the datasets of a job go, and how they are protected: stores, redundancy descriptors, groups.

use scr::format::Scheme as Kind;
use scr::format::scheme::Failures;
use scr::system::simulated::Random;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// The store that needs no line: SCR_CACHE_BASE.
pub const LOCAL: &str = "/sim/local";

/// A second one in each node, and one that all nodes see.
const SECOND: &str = "/sim/local/second";
const BURST: &str = "/sim/shared/burst";

/// XOR twice: most sites use it.
pub const SCHEMES: [Kind; 5] = [Kind::Single, Kind::Partner, Kind::Xor, Kind::Xor, Kind::Rs];

#[derive(Debug, Clone)]
pub struct Store {
    pub dir: &'static str,
    /// All nodes see it.
    pub global: bool,
    pub count: u64,
}

/// A redundancy descriptor.
#[derive(Debug, Clone, Copy)]
pub struct Scheme {
    pub interval: u64,
    /// For datasets that are marked as output.
    pub output: bool,
    pub bypass: bool,
    /// Position of its store.
    pub store: usize,
    pub kind: Kind,
    pub set_size: u64,
    pub failures: Option<u64>,
    /// Nodes fail in pairs.
    pub pairs: bool,
}

/// Where a dataset is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Prefix,
    Store(usize),
}

#[derive(Debug, Clone)]
pub struct Places {
    pub stores: Vec<Store>,
    pub schemes: Vec<Scheme>,
    /// They are lines of the configuration file. Otherwise parameters say all of the only ones.
    pub lines: bool,
}

impl Places {
    pub fn draw(random: &mut Random) -> Places {
        let bypass = random.once_in(3);
        let first = Scheme {
            interval: 1,
            output: false,
            bypass,
            store: 0,
            kind: SCHEMES[random.below(SCHEMES.len() as u64) as usize],
            set_size: if random.once_in(3) {
                random.between(2, 4)
            } else {
                8
            },
            failures: None,
            pairs: false,
        };
        let local = Store {
            dir: LOCAL,
            global: false,
            count: random.between(1, 3),
        };
        let lines = random.once_in(4);
        let mut places = Places {
            stores: vec![local],
            schemes: vec![first],
            lines,
        };
        if lines {
            places.add_lines(random);
        }
        places
    }

    fn add_lines(&mut self, random: &mut Random) {
        for (dir, global, one_in) in [(SECOND, false, 2), (BURST, true, 3)] {
            if random.once_in(one_in) {
                let count = random.between(1, 3);
                self.stores.push(Store { dir, global, count });
            }
        }
        for _ in 0..random.below(3) {
            let kind = *random.one_of(&SCHEMES);
            self.schemes.push(Scheme {
                interval: random.between(1, 4),
                output: random.once_in(3),
                bypass: random.once_in(4),
                store: random.below(self.stores.len() as u64) as usize,
                kind,
                set_size: random.between(2, 8),
                failures: (asks(kind) && random.once_in(2)).then_some(2),
                pairs: random.once_in(5),
            });
        }
    }

    /// The lines of the configuration file. Rank 0's node reads them for all.
    pub fn text(&self, nodes: usize) -> String {
        let mut text = String::new();
        if !self.lines {
            return text;
        }
        for node in 0..nodes {
            let _ = writeln!(text, "GROUPS=n{node} PAIR=p{}", node / 2);
        }
        for store in &self.stores {
            let view = if store.global { "GLOBAL" } else { "PRIVATE" };
            let _ = writeln!(
                text,
                "STORE={} COUNT={} VIEW={view}",
                store.dir, store.count
            );
        }
        for (number, scheme) in self.schemes.iter().enumerate() {
            let group = if scheme.pairs { "PAIR" } else { "NODE" };
            let _ = write!(
                text,
                "CKPT={number} INTERVAL={} OUTPUT={} BYPASS={} STORE={} GROUP={group} TYPE={} SET_SIZE={}",
                scheme.interval,
                u8::from(scheme.output),
                u8::from(scheme.bypass),
                self.stores[scheme.store].dir,
                scheme.kind,
                scheme.set_size,
            );
            if let Some(failures) = scheme.failures {
                let _ = write!(text, " SET_FAILURES={failures}");
            }
            text.push('\n');
        }
        text
    }

    /// What parameters say of all this.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let first = &self.schemes[0];
        let word = if self.lines {
            "FILE"
        } else {
            first.kind.word()
        };
        vec![
            ("SCR_CACHE_BYPASS", u8::from(first.bypass).to_string()),
            ("SCR_COPY_TYPE", word.to_string()),
            ("SCR_SET_SIZE", first.set_size.to_string()),
            ("SCR_CACHE_SIZE", self.stores[0].count.to_string()),
        ]
    }

    /// Where a file is that the program was told to write or read at `path`.
    pub fn place_of(&self, path: &Path, prefix: &Path) -> Option<Place> {
        if path.starts_with(prefix) {
            return Some(Place::Prefix);
        }
        // One base may be below another.
        let stores = self.stores.iter().enumerate();
        let of = stores.filter(|(_, store)| path.starts_with(store.dir));
        let (at, _) = of.max_by_key(|(_, store)| store.dir.len())?;
        Some(Place::Store(at))
    }

    /// Where all datasets go, if that is the same place for all.
    pub fn only(&self) -> Option<Place> {
        let place = |scheme: &Scheme| {
            if scheme.bypass {
                Place::Prefix
            } else {
                Place::Store(scheme.store)
            }
        };
        let first = place(&self.schemes[0]);
        self.schemes
            .iter()
            .all(|one| place(one) == first)
            .then_some(first)
    }

    fn of_store(&self, store: usize) -> impl Iterator<Item = &Scheme> {
        let here = move |one: &&Scheme| one.store == store && !one.bypass;
        self.schemes.iter().filter(here)
    }

    /// How many nodes may be lost, whichever they are, without a dataset of this store that ranks of these
    /// nodes have written.
    pub fn tolerates(&self, store: usize, node_of: &[usize]) -> usize {
        let each = self.of_store(store).map(|one| one.tolerates(node_of));
        each.min().unwrap_or(0)
    }

    /// All datasets of this store are protected in the same way.
    pub fn is_even(&self, store: usize) -> bool {
        let how = |one: &Scheme| (one.kind, one.set_size, one.failures, one.pairs);
        let first = self.of_store(store).next().map(how);
        self.of_store(store).all(|one| Some(how(one)) == first)
    }
}

/// True if SET_FAILURES says how many losses it tolerates.
fn asks(kind: Kind) -> bool {
    let failures = kind.redundancy().map(|redundancy| redundancy.failures);
    matches!(failures, Some(Failures::Asked { .. }))
}

impl Scheme {
    fn tolerates(&self, node_of: &[usize]) -> usize {
        let group = |node: &usize| if self.pairs { node / 2 } else { *node };
        let groups: BTreeSet<usize> = node_of.iter().map(group).collect();
        let size = |wanted: &usize| node_of.iter().filter(|node| group(node) == *wanted).count();
        let sizes: BTreeSet<usize> = groups.iter().map(size).collect();
        let Some(redundancy) = self.kind.redundancy() else {
            return 0;
        };
        if groups.len() < 2 || sizes.len() > 1 {
            return 0;
        }
        let smallest_set = groups.len().min(self.set_size as usize);
        let wanted = match redundancy.failures {
            Failures::Fixed(count) => u64::from(count),
            Failures::Asked { unset, .. } => self.failures.unwrap_or(unset.map_or(2, u64::from)),
        };
        (wanted as usize).min(smallest_set - 1)
    }
}
