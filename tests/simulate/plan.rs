//! What a seed decides of a job before it begins: nodes, parameters, what the program does in each run,
//! and what breaks.

use crate::faults::Budget;
use crate::volume::Profile;
use scr::system::simulated::Random;

/// XOR twice: most sites use it.
const SCHEMES: [&str; 5] = ["SINGLE", "PARTNER", "XOR", "XOR", "RS"];

/// What happens to the machine between two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    Nothing,
    /// These many nodes come back empty.
    Nodes(usize),
    /// Of all nodes and the shared file system.
    Power,
}

/// One run of the program.
#[derive(Debug, Clone)]
pub struct Run {
    /// How many checkpoints it writes.
    pub checkpoints: usize,
    /// It ends with SCR_Finalize.
    pub finalizes: bool,
    /// The step at which a process is killed; the others follow.
    pub kill_at: Option<u64>,
    pub faults: Budget,
    /// What is lost after it.
    pub loss: Loss,
}

/// A whole job.
#[derive(Debug, Clone)]
pub struct Plan {
    /// For each rank, the number of its node.
    pub node_of: Vec<usize>,
    pub nodes: usize,
    pub local: Profile,
    pub shared: Profile,
    pub bypass: bool,
    pub scheme: &'static str,
    pub cache_size: u64,
    pub flush: u64,
    pub background: bool,
    /// Parameters besides those that follow from the fields above.
    pub more: Vec<(&'static str, String)>,
    pub runs: Vec<Run>,
}

impl Plan {
    pub fn draw(random: &mut Random) -> Plan {
        let nodes = random.between(1, 4) as usize;
        let mut node_of = Vec::new();
        let even = random.below(2) == 0;
        let each = random.between(1, 3);
        for node in 0..nodes {
            let here = if even { each } else { random.between(1, 3) };
            node_of.extend((0..here).map(|_| node));
        }
        let mut more = Vec::new();
        if random.once_in(3) {
            more.push(("SCR_SET_SIZE", random.between(2, 4).to_string()));
        }
        if random.once_in(3) {
            more.push(("SCR_USE_CONTAINERS", "1".to_string()));
            more.push(("SCR_CONTAINER_SIZE", random.between(1000, 9000).to_string()));
        }
        if random.once_in(4) {
            more.push(("SCR_PREFIX_SIZE", random.between(1, 3).to_string()));
        }
        for (name, one_in) in [
            ("SCR_CRC_ON_FLUSH", 3),
            ("SCR_CRC_ON_COPY", 3),
            ("SCR_CRC_ON_DELETE", 4),
            ("SCR_FLUSH_ON_RESTART", 4),
            ("SCR_FETCH_BYPASS", 5),
        ] {
            if random.once_in(one_in) {
                more.push((name, random.below(2).to_string()));
            }
        }
        if random.once_in(4) {
            more.push(("SCR_FLUSH_WIDTH", random.between(1, 3).to_string()));
        }
        let profiles = [Profile::Ordered, Profile::Weakest];
        let count = random.between(1, 3) as usize;
        let mut runs: Vec<Run> = (0..count).map(|_| Run::draw(random, nodes)).collect();
        runs.push(Run {
            checkpoints: 1,
            finalizes: true,
            kill_at: None,
            faults: Budget::default(),
            loss: Loss::Nothing,
        });
        Plan {
            node_of,
            nodes,
            local: *random.one_of(&[Profile::Tmpfs, Profile::Ordered, Profile::Weakest]),
            shared: *random.one_of(&profiles),
            bypass: random.once_in(3),
            scheme: SCHEMES[random.below(SCHEMES.len() as u64) as usize],
            cache_size: random.between(1, 3),
            flush: *random.one_of(&[0, 1, 1, 2, 3]),
            background: random.once_in(2),
            more,
            runs,
        }
    }

    /// The parameters of all ranks.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let flag = |value: bool| u8::from(value).to_string();
        let mut all = vec![
            ("SCR_JOB_ID", "1001".to_string()),
            ("SCR_USER_NAME", "user1".to_string()),
            ("SCR_FILE_BUF_SIZE", "4096".to_string()),
            ("SCR_MPI_BUF_SIZE", "512".to_string()),
            ("SCR_CACHE_BYPASS", flag(self.bypass)),
            ("SCR_COPY_TYPE", self.scheme.to_string()),
            ("SCR_CACHE_SIZE", self.cache_size.to_string()),
            ("SCR_FLUSH", self.flush.to_string()),
            ("SCR_FLUSH_ASYNC", flag(self.background)),
        ];
        all.extend(self.more.iter().cloned());
        all
    }

    /// True if any one node can be lost without a dataset in the cache.
    pub fn tolerates_a_node(&self) -> bool {
        let count = |node| self.node_of.iter().filter(|of| **of == node).count();
        let even = (1..self.nodes).all(|node| count(node) == count(0));
        self.nodes > 1 && even && self.scheme != "SINGLE"
    }
}

impl Run {
    fn draw(random: &mut Random, nodes: usize) -> Run {
        let loss = match random.below(6) {
            0 | 1 => Loss::Nodes(1),
            2 => Loss::Nodes(random.between(1, nodes as u64) as usize),
            3 => Loss::Power,
            _ => Loss::Nothing,
        };
        let most = 1 << random.between(5, 14);
        Run {
            checkpoints: random.below(5) as usize,
            finalizes: random.once_in(2),
            kill_at: (!random.once_in(3)).then(|| random.below(most)),
            faults: match random.once_in(5) {
                true => Budget {
                    one_in: random.between(20, 2000),
                    left: random.between(1, 4),
                },
                false => Budget::default(),
            },
            loss,
        }
    }
}
