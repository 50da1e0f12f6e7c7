//! Copying a part of a dataset as its entry in a transfer file says.

use crate::Result;
use crate::cache::layout::Layout;
use crate::format::transfer::{PartId, TransferPart};
use crate::prefix::containers::ContainerPlace;
use crate::prefix::flush_target::{Checksums, FlushTarget};
use crate::prefix::part::{Copied, PartPlace, RankSource, flush_part};
use crate::prefix::paths::Prefix;
use crate::store::Files;
use crate::system::time::SystemTime;
use crate::transfer::copy::Copier;

/// Where the files of a part's ranks are. `layout` is that of the part's run, at its level.
pub fn sources(layout: &Layout, part: &TransferPart) -> Vec<RankSource> {
    let ranks = part
        .rank
        .iter()
        .filter_map(|rank| usize::try_from(*rank).ok());
    let source = |rank| RankSource {
        record: layout.filemap(part.dataset.id, rank),
        data: layout.data(part.dataset.id, rank),
    };
    ranks.map(source).collect()
}

/// Copies the part and records it; see [`flush_part`]. Local.
pub fn copy_part(
    files: &dyn Files,
    prefix: &Prefix,
    at: PartId,
    part: &TransferPart,
    layout: &Layout,
    checksums: Checksums,
    copier: &mut Copier,
) -> Result<Copied> {
    let target = FlushTarget {
        files,
        prefix,
        metadata: part.metadata,
        checksums,
        make_dirs: true,
    };
    let place = PartPlace {
        part: at.part,
        parts: part.parts,
        ranks: part.ranks,
        split: part.split,
        containers: part.container_size.map(|size| ContainerPlace {
            size,
            begin: part.begin.unwrap_or(0),
        }),
    };
    let now = || crate::job::clock::local_time(SystemTime::now());
    let sources = sources(layout, part);
    flush_part(&target, copier, &part.dataset, &place, &sources, &now)
}
