//! The ways in which the ranks are divided: by node, by failure group, by instance of a store.

use crate::config::descriptors::{Descriptors, StoreDescriptor};

/// The divisions of a run, with this rank's group in each. The same divisions in the same order on all ranks.
#[derive(Debug, Clone, Default)]
pub struct Divisions {
    /// For each division, the name of the group that this rank belongs to.
    pub keys: Vec<Vec<u8>>,
    /// The division by node.
    pub node: usize,
    /// For each store, the division by its instances.
    pub stores: Vec<usize>,
    /// For each store, the domains of nodes that are lost together with the datasets in it.
    pub lost_with: Vec<Domain>,
    /// For each redundancy descriptor, the domains of which a set has one rank each.
    pub schemes: Vec<Domain>,
}

/// A division into failure domains: ranks that share a group or an instance of a store, directly or through
/// other ranks, are in one domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// The failure domains are the groups of this division.
    Is(usize),
    /// The failure domains follow from two divisions. `both` is the division by both of them.
    Joins {
        /// The division by failure group.
        group: usize,
        /// The division by instance of the store.
        instance: usize,
        /// Ranks with the same group and the same instance.
        both: usize,
    },
}

/// The group to which all ranks belong.
const WORLD: &str = "WORLD";

/// The group of all ranks of a node.
const NODE: &str = "NODE";

/// The property by which ranks are divided. Groups have the same names on all ranks, directories of a store may differ.
#[derive(Debug, PartialEq, Eq)]
enum By<'a> {
    Group(&'a str),
    Directory(usize),
    Both(usize, usize),
}

struct Builder<'a> {
    descriptors: &'a Descriptors,
    known: Vec<By<'a>>,
    keys: Vec<Vec<u8>>,
}

impl Divisions {
    /// The divisions that the descriptors need, each once.
    pub fn of(descriptors: &Descriptors) -> Self {
        let mut builder = Builder {
            descriptors,
            known: Vec::new(),
            keys: Vec::new(),
        };
        let node = builder.group(NODE);
        let all = &descriptors.stores;
        let stores: Vec<usize> = all.iter().map(|store| builder.store(store)).collect();
        let lost_with = all.iter().map(|store| builder.domain(NODE, Some(store)));
        let lost_with = lost_with.collect();
        let of_scheme = descriptors.schemes.iter().map(|scheme| {
            let store = all.get(scheme.store);
            builder.domain(&scheme.group, store)
        });
        let schemes = of_scheme.collect();
        Divisions {
            keys: builder.keys,
            node,
            stores,
            lost_with,
            schemes,
        }
    }
}

impl<'a> Builder<'a> {
    fn name_of(&self, group: &str) -> &'a str {
        self.descriptors
            .groups
            .get(group)
            .map_or("", String::as_str)
    }

    fn add(&mut self, by: By<'a>, key: impl FnOnce(&Self) -> Vec<u8>) -> usize {
        if let Some(known) = self.known.iter().position(|known| *known == by) {
            return known;
        }
        let key = key(self);
        self.known.push(by);
        self.keys.push(key);
        self.keys.len() - 1
    }

    fn group(&mut self, group: &'a str) -> usize {
        self.add(By::Group(group), |make| make.name_of(group).into())
    }

    /// A store that is wider than a node is identified by its group. A store in a node is identified by its
    /// directory too, since ranks of a node may use different directories.
    fn store(&mut self, store: &'a StoreDescriptor) -> usize {
        if store.outlives_nodes() {
            return self.group(&store.group);
        }
        let key = |make: &Self| {
            let group = make.name_of(&store.group);
            format!("{group}\n{}", store.dir.display()).into_bytes()
        };
        self.add(By::Directory(store.index), key)
    }

    fn domain(&mut self, group: &'a str, store: Option<&'a StoreDescriptor>) -> Domain {
        let of_group = self.group(group);
        let Some(store) = store else {
            return Domain::Is(of_group);
        };
        let instance = self.store(store);
        let is_within = group == WORLD || !store.outlives_nodes() && group == NODE;
        if of_group == instance || is_within {
            return Domain::Is(of_group);
        }
        if store.group == WORLD {
            return Domain::Is(instance);
        }
        let both = self.add(By::Both(of_group, instance), |make| {
            let key = |at: usize| make.keys.get(at).map_or(&[][..], Vec::as_slice);
            let (group, instance) = (key(of_group), key(instance));
            [&(group.len() as u32).to_le_bytes(), group, instance].concat()
        });
        Domain::Joins {
            group: of_group,
            instance,
            both,
        }
    }
}
