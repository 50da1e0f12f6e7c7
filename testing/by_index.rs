//! Datasets with an index list and a field that goes by it, also with lists that no run would write.

use scr_engine::Result;
use scr_engine::fields::entry::{Entry, Link, Order, Role};
use scr_engine::fields::index::cover::OwnList;
use scr_engine::fields::index::{Given, Indices};
use scr_engine::fields::kind::{Class, Kind};
use scr_engine::fields::memory::Slice;
use scr_engine::fields::walk::row_major;
use scr_engine::fields::write::Writer;
use scr_engine::format::{Dataset, Name};
use scr_engine::prefix::paths::Prefix;
use scr_engine::prefix::rank2file;
use scr_engine::store::Files;
use scr_engine::store::posix::Posix;
use std::path::Path;

/// The whole: the number of its first element, how many it has, and numbers of four bytes for each.
#[derive(Debug, Clone, Copy)]
pub struct Whole {
    /// The number of the first element.
    pub first: i64,
    /// Number of elements.
    pub count: u64,
    /// Numbers for each element.
    pub row: u64,
}

/// The numbers of the elements of a list; `value` gets an index and the place in the row.
pub fn numbers(list: &[i64], whole: Whole, value: impl Fn(i64, u64) -> i32) -> Vec<i32> {
    let pairs = list
        .iter()
        .flat_map(|index| (0..whole.row).map(move |place| (*index, place)));
    pairs.map(|(index, place)| value(index, place)).collect()
}

/// Writes dataset 7, `ck`, in which rank r has the list "nodes" of `lists[r]`, and the field "x", in the order of
/// Fortran.
///
/// # Errors
/// A file cannot be written, or an index is not in the whole.
pub fn write(
    dir: &Path,
    lists: &[Vec<i64>],
    whole: Whole,
    value: impl Fn(i64, u64) -> i32,
) -> Result<Dataset> {
    let prefix = Prefix::new(dir);
    let ranks = lists.len() as u64;
    let mut records = Vec::new();
    for (rank, list) in (0..).zip(lists) {
        let name = format!("ck/rank_{rank}.fields");
        let path = dir.join(&name);
        Posix.make_dirs(&dir.join("ck"))?;
        let mut writer = Writer::new(Posix.create(&path, 0o600)?, rank, ranks, Box::new(()));
        put(&mut writer, list, whole, &value)?;
        writer.finish((rank, ranks), 1, true)?;
        let size = Posix.stat(&path)?.map_or(0, |stat| stat.size);
        records.push(rank2file::entry([(Name::from(&*name), size, None)]));
    }
    Posix.make_dirs(&prefix.dataset(7))?;
    rank2file::write_all(&Posix, &prefix.dataset(7), records)?;
    Ok(Dataset {
        id: 7,
        name: "ck".into(),
        ..Dataset::default()
    })
}

/// Writes the list and the field of a rank.
fn put(
    writer: &mut Writer,
    list: &[i64],
    whole: Whole,
    value: &impl Fn(i64, u64) -> i32,
) -> Result<()> {
    let Whole { first, count, row } = whole;
    let given = Given {
        name: "nodes",
        indices: Indices::Eight(list),
        first,
        whole: count as i64,
    };
    let ids = given.encode()?;
    let own = ids.count;
    let nodes = Entry {
        name: "nodes".to_string(),
        kind: Kind::new(Class::Bytes, 1),
        role: Role::Index,
        order: Order::Row,
        extents: vec![ids.bytes.len() as u64],
        whole: vec![count],
        at: Vec::new(),
        link: Link::List {
            count: own,
            first,
            shared: false,
        },
    };
    let x = Entry {
        name: "x".to_string(),
        kind: Kind::new(Class::Integer, 4),
        role: Role::Indexed,
        order: Order::Column,
        extents: vec![own, row],
        whole: vec![count, row],
        at: Vec::new(),
        link: Link::By("nodes".to_string()),
    };
    let list_of = OwnList {
        name: "nodes".to_string(),
        whole: count,
        first,
        shared: false,
        ids,
        written: None,
        set: None,
    };
    writer.put_index(nodes, list_of)?;
    let mut data = numbers(list, whole, value);
    let strides = row_major(&x.extents, 4);
    writer.put(x, &strides, Some(&Slice::new(&mut data)))
}
