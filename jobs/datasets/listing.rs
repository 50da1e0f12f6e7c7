//! The rows of `scr index`.

use scr_engine::format::Name;
use scr_engine::format::index::{Index, IndexEntry};
use scr_engine::format::print::escaped;

/// A line of `scr_index --list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Dataset id.
    pub id: u64,
    /// True if the dataset is complete, and no restart from it has failed.
    pub valid: bool,
    /// The time at which the dataset was flushed.
    pub flushed: Option<Name>,
    /// True if the next restart begins with this dataset.
    pub current: bool,
    /// The name of the dataset.
    pub name: Name,
}

/// The checkpoints, newest first.
pub fn rows(index: &Index) -> Vec<Row> {
    let current = index.current_id();
    let row = |(&id, entry): (&u64, &IndexEntry)| {
        let dataset = entry.dataset.as_ref().filter(|d| d.is_checkpoint())?;
        Some(Row {
            id,
            valid: entry.is_good(),
            flushed: entry.flushed.clone(),
            current: current == Some(id),
            name: index.name(id).unwrap_or(&dataset.name).clone(),
        })
    };
    index.datasets().iter().rev().filter_map(row).collect()
}

/// The table of `scr_index --list`, a heading and a line for each row.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from("DSET VALID FLUSHED             CUR NAME\n");
    for row in rows {
        let valid = if row.valid { "YES" } else { "NO" };
        let flushed = row.flushed.as_ref().map(escaped).unwrap_or_default();
        let current = if row.current { "*" } else { "" };
        let name = escaped(&row.name);
        let id = row.id;
        text.push_str(&format!(
            "{id:>4} {valid:<5} {flushed:<19} {current:>3} {name}\n"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use scr_engine::format::Dataset;

    fn dataset(id: u64, name: &str, ckpt: bool) -> Dataset {
        Dataset {
            id,
            name: name.into(),
            flag_ckpt: ckpt,
            ckpt: ckpt.then_some(id),
            flag_output: !ckpt,
            ..Dataset::default()
        }
    }

    #[test]
    fn the_table_is_that_of_scr_index() {
        let mut index = Index::default();
        index.add(dataset(2, "ck.2", true));
        index.set_complete(dataset(3, "ck.3", true), "2026-11-21T00:42:08");
        index.set_complete(dataset(12345, "out", false), "2026-11-21T00:42:08");
        index.set_current(&"ck.3".into());
        let text = "DSET VALID FLUSHED             CUR NAME\n   \
                    3 YES   2026-11-21T00:42:08   * ck.3\n   \
                    2 NO                            ck.2\n";
        assert_eq!(table(&rows(&index)), text);
    }
}
