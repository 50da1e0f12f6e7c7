//! VELOC: <https://veloc.readthedocs.io>.

use super::super::call::Failure;
use super::page::{Page, value_of};
use super::settings::Settings;
use scr_engine::format::Scheme;
use scr_engine::text::escaped;

/// The settings that each configuration has before any section.
pub(super) const REQUIRED: [&str; 3] = ["scratch", "persistent", "mode"];

/// Settings without a counterpart, and why.
const NONE: &[(&str, &str)] = &[
    (
        "axl_type",
        "Nothing like it in SCR: SCR copies the files itself, as fast as the file systems allow.",
    ),
    (
        "axl_config",
        "Nothing like it in SCR: SCR does not use AXL.",
    ),
    (
        "watchdog_interval",
        "Nothing like it in SCR: there is no backend process. SCR_WATCHDOG of scr_run ends a run that makes \
         no progress.",
    ),
];

/// The result for one setting of VELOC: the lines for SCR, and the comment.
type Lines = (Vec<String>, &'static str);

pub(super) fn import(settings: &mut Settings) -> Result<Page, Failure> {
    let (scratch_shown, scratch) = settings.directory("", "scratch")?;
    let (persistent_shown, persistent) = settings.directory("", "persistent")?;
    let mode = settings.required("", "mode")?;
    let seconds = i64::from(i32::MIN)..=i64::from(i32::MAX);
    let ec = settings.number(("", "ec_interval"), 0, seconds.clone())?;
    let flush = settings.number(("", "persistent_interval"), 0, seconds)?;
    let versions = settings.number(("", "max_versions"), 0, 0..=i64::from(i32::MAX))?;

    let mut page = Page::begin("VELOC", settings.path(), &persistent_shown, &persistent);
    page.set(
        &scratch_shown,
        "Checkpoints are written there first.",
        &[
            "SCR_CACHE_BYPASS = 0".to_string(),
            format!("SCR_CACHE_BASE = {}", value_of(&scratch)),
        ],
    );
    let Some(background) = background(&mode.value) else {
        return Err(Failure::said(format!(
            "{}: mode is `{}`, and must be sync or async",
            settings.path().display(),
            escaped(&mode.value)
        )));
    };
    let translated = [
        (mode.shown(), background),
        (ec.shown, redundancy(ec.value)),
        (flush.shown, flushes(flush.value)),
        (versions.shown, kept(versions.value)),
    ];
    for (shown, (lines, why)) in translated {
        page.set(&shown, why, &lines);
    }

    for (name, why) in NONE {
        if let Some(entry) = settings.take("", name) {
            page.note(&entry.shown(), why);
        }
    }
    for entry in settings.rest() {
        page.note(
            &entry.shown(),
            "This setting is not known here, and was left out.",
        );
    }
    Ok(page)
}

/// `None` if the mode does not exist.
fn background(mode: &str) -> Option<Lines> {
    let (background, why) = match mode {
        "async" => (
            1,
            "Checkpoints are copied to the prefix directory in the background, by a thread of SCR in each \
             node. No backend is started. The redundancy is made before SCR_Complete_output returns.",
        ),
        "sync" => (
            0,
            "SCR_Complete_output returns when the checkpoint is safe, and copied if that is due.",
        ),
        _ => return None,
    };
    Some((vec![format!("SCR_FLUSH_ASYNC = {background}")], why))
}

fn redundancy(interval: i64) -> Lines {
    let (scheme, why) = match interval {
        ..0 => (
            Scheme::Single,
            "No redundancy: a checkpoint in the nodes survives killed processes, and no lost node.",
        ),
        0 => (
            Scheme::Xor,
            "Every checkpoint survives the loss of a node in each set.",
        ),
        1.. => (
            Scheme::Xor,
            "SCR counts checkpoints where VELOC counts seconds. So that no checkpoint has less protection, \
             each one is protected. CKPT lines (SCR_COPY_TYPE=FILE) can do it for each n-th.",
        ),
    };
    (vec![format!("SCR_COPY_TYPE = {scheme}")], why)
}

fn flushes(interval: i64) -> Lines {
    let (every, why) = match interval {
        ..0 => (
            0,
            "Nothing is copied to the prefix directory, also not at the end: the checkpoints live as long \
             as the job.",
        ),
        0 => (1, "Every checkpoint is copied to the prefix directory."),
        1.. => (
            1,
            "SCR counts checkpoints where VELOC counts seconds. So that no checkpoint is lost, each one is \
             copied; set n for each n-th.",
        ),
    };
    (vec![format!("SCR_FLUSH = {every}")], why)
}

/// Number of checkpoints that are kept in the nodes and in the prefix directory.
fn kept(versions: i64) -> Lines {
    let (cache, prefix, why) = match versions {
        0 => (
            2,
            0,
            "The prefix directory keeps all. The nodes keep two, so that one is complete while the next is \
             written; more would need more room.",
        ),
        n => (
            n,
            n,
            "So many checkpoints are kept in the nodes, and so many in the prefix directory. With 1, the \
             nodes have none that is complete while the next is written.",
        ),
    };
    let lines = [("CACHE", cache), ("PREFIX", prefix)];
    let lines = lines.map(|(place, size)| format!("SCR_{place}_SIZE = {size}"));
    (lines.into(), why)
}
