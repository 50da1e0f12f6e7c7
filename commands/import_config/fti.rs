//! FTI: <https://fault-tolerance-interface.readthedocs.io>.

use super::super::call::Failure;
use super::page::{Choice, Page, value_of};
use super::settings::Settings;
use scr_engine::format::Scheme;
use std::collections::BTreeMap;

/// The section that each configuration has.
pub(super) const BASIC: &str = "basic";

const INT: i64 = i32::MAX as i64;

/// Settings without a counterpart: section, names, and why.
const NONE: &[(&str, &[&str], &str)] = &[
    (
        BASIC,
        &["meta_dir"],
        "Not needed: SCR keeps its records in .scr of the prefix directory.",
    ),
    (
        BASIC,
        &["node_size"],
        "Not needed: SCR finds out which processes share a node. Nodes may have different numbers of them.",
    ),
    (
        BASIC,
        &["head"],
        "Nothing like it in SCR: it takes no process away from the program; a thread in each node copies \
         in the background. With Head = 1, start one process less in each node.",
    ),
    (
        BASIC,
        &["inline_l2", "inline_l3"],
        "Nothing like it in SCR: SCR_Complete_output makes the redundancy before it returns.",
    ),
    (
        BASIC,
        &["dcp_l4", "enable_dcp", "dcp_mode", "dcp_block_size"],
        "Nothing like it in SCR: it writes whole checkpoints.",
    ),
    (
        BASIC,
        &["max_sync_intv"],
        "Not needed: SCR_Need_checkpoint gives all processes the same answer each time.",
    ),
    (
        BASIC,
        &["ckpt_io"],
        "Nothing like it in SCR: the program writes its files itself, in its own way, where SCR_Route_file \
         says. A file that processes share needs SCR_CACHE_BYPASS=1.",
    ),
    (
        BASIC,
        &["enable_staging"],
        "Not needed: write such files in a dataset of its own with SCR_FLAG_OUTPUT, which is copied in any \
         case.",
    ),
    (
        "restart",
        &["failure"],
        "Not needed: SCR finds out whether there is a checkpoint. SCR_REQUIRE_RESTART=1 makes it an error \
         if no checkpoint is found.",
    ),
    (
        "restart",
        &["exec_id"],
        "Not needed: the prefix directory says which run this is. SCR_CURRENT names the checkpoint to \
         begin with.",
    ),
    (
        "injection",
        &["rank", "number", "position", "frequency"],
        "Nothing like it in SCR.",
    ),
    (
        "advanced",
        &["general_tag", "ckpt_tag", "stage_tag", "final_tag"],
        "Not needed: SCR has a communicator of its own.",
    ),
    (
        "advanced",
        &["local_test"],
        "Nothing like it in SCR: processes of one machine fail together, so they get no redundancy. \
         SCR_NODE_NAME, set for each process, emulates nodes.",
    ),
    (
        "advanced",
        &[
            "lustre_striping_unit",
            "lustre_striping_factor",
            "lustre_striping_offset",
        ],
        "Nothing like it in SCR: set the striping of the prefix directory with lfs setstripe.",
    ),
];

pub(super) fn import(settings: &mut Settings) -> Result<Page, Failure> {
    let (local_shown, local) = settings.directory(BASIC, "ckpt_dir")?;
    let (global_shown, global) = settings.directory(BASIC, "glbl_dir")?;
    let mut level = |name, default| settings.number((BASIC, name), default, 0..=INT / 60);
    let levels = [
        level("ckpt_l1", 3)?,
        level("ckpt_l2", 5)?,
        level("ckpt_l3", 7)?,
        level("ckpt_l4", 11)?,
    ];
    let group = settings.number((BASIC, "group_size"), 4, 2..=32)?;
    let inline = settings.number((BASIC, "inline_l4"), 1, 0..=1)?;
    let keep_last = settings.number((BASIC, "keep_last_ckpt"), 0, 0..=1)?;
    let keep_all = settings.number((BASIC, "keep_l4_ckpt"), 0, 0..=1)?;
    let verbosity = settings.number((BASIC, "verbosity"), 2, 1..=4)?;
    let message = settings.number(("advanced", "block_size"), 1024, 1..=1 << 20)?;
    let chunk = settings.number(("advanced", "transfer_size"), 16, 1..=1 << 10)?;

    let mut page = Page::begin("FTI", settings.path(), &global_shown, &global);
    let [l1, l2, l3, l4] = levels.each_ref().map(|level| level.value);
    let cached = l1 + l2 + l3 > 0;
    page.set(
        &local_shown,
        if cached {
"Checkpoints are written there first. The nodes keep two, so that one is complete while \
             the next is written."} else {
"Without levels 1 to 3 nothing is written there: checkpoints go straight to the prefix \
             directory."},
        &[
            format!("SCR_CACHE_BYPASS = {}", u8::from(!cached)),
            format!("SCR_CACHE_BASE = {}", value_of(&local)),
            "SCR_CACHE_SIZE = 2".to_string(),
        ],
    );
    take_levels(&mut page, &levels, &group);

    page.set(
        &inline.shown,
        match inline.value {
            0 => "Checkpoints are copied to the prefix directory in the background.",
            _ => "SCR_Complete_output returns when a copy that is due is made.",
        },
        &[format!("SCR_FLUSH_ASYNC = {}", 1 - inline.value)],
    );
    page.note(
        &keep_last.shown,
        match (keep_last.value, l4) {
            (0, _) => {
                "Nothing like it in SCR: SCR keeps the last checkpoint, and the next run restarts \
             from it. scr index --delete NAME deletes it."
            }
            (_, 0) if cached => {
                "SCR_FLUSH = 0 keeps SCR_Finalize from copying the last checkpoint, too. \
             Set it to a large number instead, for the last one only."
            }
            _ => "SCR_Finalize brings the last checkpoint to the prefix directory in any case.",
        },
    );
    page.set(
        &keep_all.shown,
        match keep_all.value {
            0 => "The prefix directory keeps one checkpoint.",
            _ => "The prefix directory keeps all checkpoints.",
        },
        &[format!("SCR_PREFIX_SIZE = {}", 1 - keep_all.value)],
    );
    page.set(
        &verbosity.shown,
        "Errors and warnings are always printed.",
        &[format!("SCR_DEBUG = {}", (3 - verbosity.value).max(0))],
    );
    page.set(
        &message.shown,
        "Size of one message, in KB.",
        &[format!("SCR_MPI_BUF_SIZE = {}k", message.value)],
    );
    page.set(
        &chunk.shown,
        "Most that is copied at once, in MB.",
        &[format!("SCR_FILE_BUF_SIZE = {}m", chunk.value)],
    );

    for (section, names, why) in NONE {
        for name in *names {
            if let Some(entry) = settings.take(section, name) {
                page.note(&entry.shown(), why);
            }
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

/// Level 1 to 3 with their schemes, level 4 as the flush. FTI has minutes for each level. SCR has the
/// minutes to the next checkpoint, and counts checkpoints for the other levels.
fn take_levels(page: &mut Page, levels: &[Choice; 4], group: &Choice) {
    let Some(shortest) = levels
        .iter()
        .map(|level| level.value)
        .filter(|&v| v > 0)
        .min()
    else {
        let shown = levels
            .each_ref()
            .map(|level| level.shown.as_str())
            .join(", ");
        page.note(
            &shown,
            "No checkpoint is due by time. SCR_Need_checkpoint says no; the program may write \
         some nevertheless.",
        );
        return;
    };
    let nth = |minutes: i64| (minutes + shortest / 2) / shortest;
    let [l1, l2, l3, l4] = levels;
    page.set(
        &levels.each_ref().map(|level| level.shown.as_str()).join(", "),
        &format!(
            "SCR_Need_checkpoint says yes {shortest} minutes after the last checkpoint. Longer intervals are \
             counted in checkpoints. A level that the program gives to FTI_Checkpoint has no counterpart."
        ),
        &[format!("SCR_CHECKPOINT_SECONDS = {}", shortest * 60)],
    );

    let schemes = [
        (l1, format!("TYPE={}", Scheme::Single)),
        (
            l2,
            format!("TYPE={} SET_SIZE={}", Scheme::Partner, group.value),
        ),
        (
            l3,
            format!(
                "TYPE={} SET_SIZE={} SET_FAILURES={}",
                Scheme::Rs,
                group.value,
                group.value / 2
            ),
        ),
    ];
    // If two levels have the same interval, the higher one counts.
    let mut every = BTreeMap::new();
    for (level, scheme) in &schemes {
        if level.value > 0 {
            every.insert(nth(level.value), (level, scheme));
        }
    }
    let mut lines = vec!["SCR_COPY_TYPE = FILE".to_string()];
    for (number, (interval, (_, scheme))) in every.iter().enumerate() {
        // One of the lines must have the interval 1.
        let interval = if number == 0 { 1 } else { *interval };
        lines.push(format!("CKPT={number} INTERVAL={interval} {scheme}"));
    }
    if !every.is_empty() {
        page.set(
            &group.shown,
            "Level 1 has no redundancy, level 2 copies to a partner, level 3 has Reed-Solomon, which survives \
             the loss of half of each group. Of levels that come out at one interval, the highest counts.",
            &lines,
        );
    }
    let (flush, why) = match l4.value {
        0 => (0, "Nothing is copied to the prefix directory.".to_string()),
        minutes => (
            nth(minutes),
            format!(
                "Level 4: one checkpoint in {} is copied to the prefix directory.",
                nth(minutes)
            ),
        ),
    };
    page.set(&l4.shown, &why, &[format!("SCR_FLUSH = {flush}")]);
}
