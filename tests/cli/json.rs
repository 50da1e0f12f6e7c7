//! `--json`: real output has the keys and types of `docs/formats/json.md`, and says the same as the text.

use crate::checkpoints::double_nodes;
use crate::sandbox::{FIXTURES, Programs, Said, Sandbox, program, said};
use crate::scavenge::on;
use crate::site::Site;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Types by key, as the page has them under the heading of this call.
fn documented(heading: &str) -> BTreeMap<String, BTreeSet<String>> {
    let page = include_str!("../../docs/formats/json.md");
    let begin = format!("\n## {heading}\n");
    let (_, section) = page.split_once(&begin).expect(heading);
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    // The page has these two once, for all commands.
    let first = ["version", "command"].into_iter().zip(["number", "string"]);
    let first = first.map(|(key, kind)| (key.to_string(), BTreeSet::from([kind.to_string()])));
    let mut all: BTreeMap<String, BTreeSet<String>> = first.collect();
    for line in rows {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let key = cells[1].trim_matches('`');
        let mut kinds = BTreeSet::new();
        for kind in cells[2].split(" or ") {
            let kind = documented_kind(key, kind, &mut all);
            kinds.insert(kind.to_string());
        }
        all.insert(key.to_string(), kinds);
    }
    all
}

/// The type of `key` in JSON where the page says `kind`. Adds the keys that this implies to `all`.
fn documented_kind<'a>(
    key: &str,
    kind: &'a str,
    all: &mut BTreeMap<String, BTreeSet<String>>,
) -> &'a str {
    let mut add = |key: String, kind: &str| all.insert(key, BTreeSet::from([kind.to_string()]));
    if kind == "name" {
        add(format!("{key}_hex"), "string");
        return "string";
    }
    if let Some(items) = kind.strip_prefix("array of ") {
        add(format!("{key}[]"), items.trim_end_matches('s'));
        return "array";
    }
    let Some(like) = kind.strip_prefix("as ") else {
        return kind;
    };
    let like = format!("{}.", like.trim_matches('`'));
    let alike = all.iter().filter_map(|(other, kinds)| {
        let rest = other.strip_prefix(&like)?;
        Some((format!("{key}.{rest}"), kinds.clone()))
    });
    let alike: Vec<_> = alike.collect();
    all.extend(alike);
    "object"
}

/// Adds the type of each key in `value`.
fn types(path: &str, value: &Value, found: &mut BTreeMap<String, BTreeSet<String>>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(items) => {
            let path = format!("{path}[]");
            items.iter().for_each(|item| types(&path, item, found));
            "array"
        }
        Value::Object(_) if path.ends_with(".values") => "map",
        Value::Object(entries) => {
            for (key, value) in entries {
                let path = match path {
                    "" => key.clone(),
                    path => format!("{path}.{key}"),
                };
                types(&path, value, found);
            }
            "object"
        }
    };
    // Entries of arrays are described by their keys.
    let entry = path.ends_with("[]") && kind == "object";
    if !path.is_empty() && !entry {
        let kinds = found.entry(path.to_string()).or_default();
        kinds.insert(kind.to_string());
    }
}

pub fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The documents together have all keys of the page and no others, with types of the page.
pub fn as_documented(heading: &str, documents: &[Value]) {
    let mut found = BTreeMap::new();
    for document in documents {
        types("", document, &mut found);
        let command = heading.split_whitespace().nth(1).unwrap();
        assert_eq!(document["version"], 1);
        assert_eq!(document["command"], command);
        let text = serde_json::to_string(document).unwrap();
        assert!(!text.contains(['\x1b', '\u{202e}']), "{text}");
    }
    let page = documented(heading);
    let keys = |types: &BTreeMap<String, _>| types.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&found), keys(&page), "{heading}");
    for (key, kinds) in &found {
        assert!(kinds.is_subset(&page[key]), "{heading}: {key} is {kinds:?}");
    }
}

/// A site that names itself and its dataset in bytes that are not UTF-8.
fn odd_dataset() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join(OsStr::from_bytes(b"odd\xff"));
    std::fs::create_dir_all(prefix.join(".scr")).unwrap();
    let bytes = |name: &[u8]| {
        let tree = scr::format::Name::new(name);
        scr::format::Dataset {
            id: 7,
            name: tree,
            flag_ckpt: true,
            ..Default::default()
        }
    };
    let mut index = scr::format::index::Index::default();
    index.add(bytes(b"ck\xff\x1b"));
    let files = scr::store::posix::Posix;
    index.write(&files, &prefix.join(".scr/index.scr")).unwrap();
    let mut flush = scr::format::flush_file::FlushFile::default();
    let mut entry = scr::format::flush_file::FlushEntry::cached(bytes(b"ck\xff\x1b"));
    flush.datasets.insert(7, entry.clone());
    (entry.name, entry.dataset) = (None, None);
    entry.locations.clear();
    flush.datasets.insert(8, entry);
    let halt = scr::format::halt::Halt {
        exit_reason: Some(scr::format::Name::new(&b"why\xfe"[..])),
        ..Default::default()
    };
    let durability = scr::store::Durability::Atomic;
    scr::format::write(&files, &prefix.join(".scr/flush.scr"), &flush, durability).unwrap();
    scr::format::write(&files, &prefix.join(".scr/halt.scr"), &halt, durability).unwrap();
    (dir, prefix)
}

fn in_odd(args: &[&str]) -> (tempfile::TempDir, Value) {
    let (dir, prefix) = odd_dataset();
    let output = program("scr", args).current_dir(&prefix).output().unwrap();
    let document = parsed(&said(output).out());
    (dir, document)
}

#[test]
fn an_index() {
    let mut documents = Vec::new();
    for fixture in FIXTURES {
        let sandbox = Sandbox::of(fixture);
        let document = parsed(&sandbox.run(&["index", "--json"]).out());
        // The table has the checkpoints among them.
        let table = sandbox.run(&["index"]).out();
        let row = |entry: &Value| {
            let valid = if entry["valid"] == true { "YES" } else { "NO" };
            let flushed = entry["flushed"].as_str().unwrap_or("");
            let current = if entry["current"] == true { "*" } else { "" };
            let name = entry["name"].as_str().unwrap();
            let id = entry["id"].as_u64().unwrap();
            format!("{id:>4} {valid:<5} {flushed:<19} {current:>3} {name}")
        };
        let entries = document["datasets"].as_array().unwrap();
        let checkpoints = entries.iter().filter(|entry| entry["checkpoint"] == true);
        let rows: Vec<String> = checkpoints.map(row).collect();
        assert_eq!(rows, table.lines().skip(1).collect::<Vec<_>>());
        documents.push(document);
    }
    assert!(documents.iter().any(|document| {
        let entries = document["datasets"].as_array().unwrap();
        entries.iter().any(|entry| entry["output"] == true)
    }));
    let (_dir, odd) = in_odd(&["index", "--json"]);
    assert_eq!(odd["datasets"][0]["name"], "ck\u{fffd}\u{1b}");
    assert_eq!(odd["datasets"][0]["name_hex"], "636bff1b");
    documents.push(odd);
    // An entry without a description, from which no name is known.
    let mut index = scr::format::Tree::new();
    let entry = scr::format::Tree::new();
    let mut entries = scr::format::Tree::new();
    entries.set("5", entry);
    index.set_value("VERSION", "2").set("DSET", entries);
    let sandbox = Sandbox::empty();
    std::fs::create_dir(sandbox.path().join(".scr")).unwrap();
    let path = sandbox.path().join(".scr/index.scr");
    std::fs::write(path, scr::format::encode(&index)).unwrap();
    documents.push(parsed(&sandbox.run(&["index", "--json"]).out()));
    // What takes longer to find out is only in the long form.
    let sandbox = Sandbox::of("basic");
    let short = parsed(&sandbox.run(&["index", "--json"]).out());
    assert_eq!(short["datasets"][0]["ranks"], Value::Null);
    let log = "2026-11-21T00:42:06: host=n1, jobid=1001, xfer=FLUSH_SYNC, dset=3, name=\"timestep.3\", \
               secs=0.500000, bytes=2048.000000\n";
    std::fs::write(sandbox.path().join(".scr/log"), log).unwrap();
    let long = parsed(&sandbox.run(&["index", "--json", "--long"]).out());
    let (newest, older) = (&long["datasets"][0], &long["datasets"][1]);
    assert_eq!((&newest["ranks"], &older["ranks"]), (&4.into(), &4.into()));
    assert_eq!(newest["seconds"], 0.5);
    assert_eq!(newest["bytes_per_second"], 4096.0);
    assert_eq!(older["seconds"], Value::Null);
    assert_eq!(newest["checksums"], "none");
    documents.extend([short, long]);
    as_documented("scr index --json", &documents);
}

/// The keys and types that were found are those of the page, except for keys that only odd names need.
#[track_caller]
fn fits(found: &BTreeMap<String, BTreeSet<String>>, mut page: BTreeMap<String, BTreeSet<String>>) {
    page.retain(|key, _| !key.ends_with("_hex"));
    assert!(found.keys().eq(page.keys()), "{found:?} {page:?}");
    for (key, kinds) in found {
        assert!(kinds.is_subset(&page[key]), "{key} is {kinds:?}");
    }
}

/// A run with an event log: what it took is what the log says.
#[test]
fn times_and_checksums_of_a_run() {
    let site = Site::new()
        .set("SCR_FLUSH", "1")
        .set("SCR_LOG_ENABLE", "1")
        .set("SCR_LOG_SYSLOG_ENABLE", "0");
    site.run(&double_nodes(4), |rank| rank.checkpoint("ck.1").unwrap());
    // The thread that writes the log ends with the run.
    let log = document(on(&site, "n0", "scr", &["log", "--json"]));
    let took = |kind: &str| {
        let mut all = log["records"].as_array().unwrap().iter();
        all.find(|record| record["type"] == kind && record["kind"] == "transfer")
            .unwrap()
    };
    let index = document(on(&site, "n0", "scr", &["index", "--long", "--json"]));
    let inspect = document(on(&site, "n1", "scr", &["inspect", "--json"]));
    for (list, kind) in [(&index, "FLUSH_SYNC"), (&inspect, "CHECKPOINT")] {
        let dataset = &list["datasets"][0];
        let record = took(kind);
        for key in ["seconds", "bytes_per_second", "bytes", "files"] {
            assert_eq!(dataset[key].as_f64(), record[key].as_f64(), "{kind} {key}");
            assert!(dataset[key].as_f64().unwrap() > 0.0, "{kind} {key}");
        }
        assert_eq!(dataset["checksums"], "all");
        assert_eq!(dataset["ranks"], 8);
    }
    let mut found = BTreeMap::new();
    types("", &inspect, &mut found);
    fits(&found, documented("scr inspect --json"));
}

#[test]
fn errors_and_exit_codes_are_as_without_json() {
    let sandbox = Sandbox::empty();
    for args in [
        &["index"][..],
        &["flush-file", "--latest"],
        &["inspect"],
        &["halt", "--list"],
    ] {
        let plain = sandbox.run(args);
        let json = sandbox.run(&[args, &["--json"]].concat());
        assert_eq!((plain.code, &plain.err), (json.code, &json.err), "{args:?}");
        assert_eq!(plain.code, 1);
        assert!(json.out.is_empty() || args[0] == "halt", "{}", json.out);
    }
    for args in [
        &["index", "--json", "--drop", "x"][..],
        &["inspect", "--json", "--quiet"],
        &["list-down-nodes", "--json", "--reason"],
    ] {
        assert_eq!(sandbox.run(args).code, 2, "{args:?}");
    }
}

fn document(said: Said) -> Value {
    assert_eq!(said.code, 0, "{said:?}");
    parsed(&said.out)
}

#[test]
fn caches_and_what_was_saved_of_them() {
    let site = Site::new().set("SCR_FLUSH", "0").set("SCR_CACHE_SIZE", "2");
    site.run(&double_nodes(4), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.write("ck.2", true, true).unwrap();
    });
    let here = document(on(&site, "n1", "scr", &["inspect", "--json"]));
    assert_eq!(here["node"], "n1");
    assert_eq!(here["datasets"][0]["name"], "ck.2");
    assert_eq!(here["datasets"][0]["output"], true);
    assert_eq!(here["datasets"][1]["ranks_here"], serde_json::json!([2, 3]));
    assert_eq!(here["datasets"][1]["ranks"], 8);
    let mut found = BTreeMap::new();
    types("", &here, &mut found);
    fits(&found, documented("scr inspect --json"));

    for node in ["n0", "n1", "n3"] {
        on(&site, node, "scr_copy", &["--id", "1"]).out();
    }
    let ask = ["inspect", "--id", "1", "--json"];
    let some = document(on(&site, "n0", "scr", &ask));
    assert_eq!(some["dataset"]["state"], "rebuildable");
    assert_eq!(some["dataset"]["rebuild_ranks"], serde_json::json!([4, 5]));
    on(&site, "n2", "scr_copy", &["--id", "1"]).out();
    let all = document(on(&site, "n0", "scr", &ask));
    assert_eq!(all["dataset"]["state"], "copied");
    assert_eq!(on(&site, "n0", "scr_index", &["--build", "1"]).code, 0);
    let done = document(on(&site, "n0", "scr", &ask));
    assert_eq!(done["dataset"]["state"], "complete");
    let mut keys = documented("scr inspect --id ID --json");
    assert!(keys.remove("dataset.name_hex").is_some());
    let mut found = BTreeMap::new();
    for document in [&some, &all, &done] {
        types("", document, &mut found);
    }
    assert_eq!(found, keys);
}

#[test]
fn a_flush_file() {
    let (_dir, odd) = in_odd(&["flush-file", "--json"]);
    assert_eq!(odd["datasets"][1]["name_hex"], "636bff1b");
    assert_eq!(odd["datasets"][1]["location"], "CACHE");
    as_documented("scr flush-file --json", &[odd]);
    let sandbox = Sandbox::of("output");
    let ids = |args: &[&str]| {
        let said = sandbox.run(&[&["flush-file", "--json"], args].concat());
        let document = parsed(&said.out);
        let entries = document["datasets"].as_array().unwrap().iter();
        let ids: Vec<String> = entries.map(|entry| entry["id"].to_string()).collect();
        (said.code, ids.join(" "))
    };
    let plain = |args: &[&str]| {
        let said = sandbox.run(&[&["flush-file"], args].concat());
        (said.code, said.out.trim_end().to_string())
    };
    for args in [
        &["--list-output"][..],
        &["--list-ckpt"],
        &["--list-ckpt", "--before", "2"],
        &["--latest"],
    ] {
        assert_eq!(ids(args), plain(args), "{args:?}");
    }
    for id in 0..8 {
        let id = id.to_string();
        for question in ["--need-flush", "--location", "--name"] {
            let args = [question, &id];
            assert_eq!(ids(&args).0, plain(&args).0, "{args:?}");
        }
    }
}

#[test]
fn halt_conditions() {
    let sandbox = Sandbox::of("basic");
    let unset = parsed(&sandbox.run(&["halt", "--remove", "--json"]).out());
    assert_eq!(unset["halts"][0]["exit_reason"], Value::Null);
    let args = ["halt", "--json", "-c", "5", "-s", "60"];
    let times = [
        "--before",
        "2099-01-01T00:00:00",
        "--after",
        "2098-01-01T00:00:00",
    ];
    let set = parsed(&sandbox.run(&[&args[..], &times].concat()).out());
    assert_eq!(set["halts"][0]["checkpoints_left"], 5);
    assert_eq!(set["halts"][0]["exit_before"], 4_070_908_800_u64);
    // The option alone asks only.
    let asked = parsed(&sandbox.run(&["halt", "--json"]).out());
    assert_eq!(asked, set);
    let (_dir, odd) = in_odd(&["halt", "--list", "--json"]);
    assert_eq!(odd["halts"][0]["exit_reason_hex"], "776879fe");
    as_documented("scr halt --list --json", &[unset, set, odd]);
    let said = sandbox.run(&["halt", "--json", ".", "elsewhere"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("elsewhere"), "{}", said.err);
    assert_eq!(parsed(&said.out), asked);
}

#[test]
fn nodes_that_are_down() {
    let sandbox = Sandbox::empty();
    let programs = Programs::new().add("sinfo", "exit 1");
    let set = [
        ("SLURM_JOB_ID", "77"),
        ("SCR_NODE_TESTS", "none"),
        ("SCR_REMOTE", "LOCAL"),
    ];
    let args = ["list-down-nodes", "--json", "--down", "n2", "n[1-3]"];
    let said = programs.run(&sandbox, &set, &args);
    assert_eq!(said.code, 0, "{said:?}");
    let document = parsed(&said.out);
    let note = document["not_tested"][0].as_str().unwrap();
    assert!(said.err.contains(note), "{}", said.err);
    assert_eq!(document["tested"], serde_json::json!(["n1", "n2", "n3"]));
    assert_eq!(document["down"][0]["node"], "n2");
    as_documented("scr list-down-nodes --json", &[document]);
}

#[test]
fn parameters() {
    let sandbox = Sandbox::empty();
    let lines = "SCR_CACHE_SIZE=2\nSTORE=/dev/shm COUNT=3\nSCR_LOG_DB_PASS=secret\n";
    std::fs::write(sandbox.path().join(".scrconf"), lines).unwrap();
    let good = sandbox.run(&["params", "--json"]);
    assert!(!good.out.contains("secret"));
    let all = parsed(&good.out);
    let one = |name: &str| {
        let mut all = all["parameters"].as_array().unwrap().iter();
        all.find(|p| p["name"] == name).unwrap().clone()
    };
    assert_eq!(one("SCR_CACHE_SIZE")["value"], "2");
    let place = one("SCR_CACHE_SIZE")["set_in"]
        .as_str()
        .unwrap()
        .to_string();
    assert!(place.ends_with(".scrconf:1"), "{place}");
    let secret = one("SCR_LOG_DB_PASS");
    assert_eq!(
        (&secret["set"], &secret["value"]),
        (&true.into(), &Value::Null)
    );
    let mut lines = all["lines"].as_array().unwrap().iter();
    let store = lines.find(|line| line["name"] == "STORE").unwrap();
    assert_eq!(
        store["items"][0]["values"],
        serde_json::json!({"COUNT": "3"})
    );
    assert_eq!(
        all["parameters"].as_array().unwrap().len(),
        scr::config::table::PARAMETERS.len()
    );

    std::fs::write(sandbox.path().join(".scrconf"), "SCR_CACHE_SIZE=many\n").unwrap();
    let bad = sandbox.run(&["params", "--json", "--set"]);
    assert_eq!(bad.code, 1);
    let bad = parsed(&bad.out);
    let mut shown = bad["parameters"].as_array().unwrap().iter();
    let size = shown.find(|p| p["name"] == "SCR_CACHE_SIZE").unwrap();
    assert!(size["error"].as_str().unwrap().contains("many"));
    as_documented("scr params --json", &[all, bad]);
}

#[test]
fn what_was_cleaned() {
    let site = Site::new().set("SCR_FLUSH", "0");
    site.run(&["n0"], |rank| rank.checkpoint("ck.1").unwrap());
    std::fs::write(site.job("n0").join("mine"), "").unwrap();
    let would = document(on(&site, "n0", "scr", &["clean", "--json", "-n"]));
    assert_eq!(would["directories"][0]["action"], "would_remove");
    let done = document(on(&site, "n0", "scr", &["clean", "--json"]));
    assert_eq!(done["directories"][0]["action"], "kept");
    let bytes = done["directories"][0]["bytes"].as_u64().unwrap();
    assert!(bytes > 1000, "{bytes}");
    assert_eq!(bytes, would["directories"][0]["bytes"]);
    let foreign = done["directories"][0]["foreign"][0].as_str().unwrap();
    assert!(foreign.ends_with("/mine"), "{foreign}");
    let mut keys = documented("scr clean --json");
    assert!(keys.remove("directories[].problems[]").is_some());
    let mut found = BTreeMap::new();
    types("", &would, &mut found);
    types("", &done, &mut found);
    assert_eq!(found, keys);
}

#[test]
fn a_diagnosis() {
    let sandbox = Sandbox::of("basic");
    std::fs::write(sandbox.path().join("file"), "").unwrap();
    let cache = sandbox.path().join("cache");
    let set = [
        ("SCR_CACHE_BASE", cache.to_str().unwrap()),
        ("SCR_CNTL_BASE", "/dev/null"),
    ];
    let said = Programs::new().run(&sandbox, &set, &["doctor", "--json"]);
    assert_eq!((said.code, said.err.as_str()), (1, ""));
    let found = parsed(&said.out);
    assert_eq!(found["good"], false);
    let directories = found["directories"].as_array().unwrap();
    let role = |role: &str| directories.iter().find(|d| d["role"] == role).unwrap();
    assert_eq!(role("control")["file_system"], Value::Null);
    assert_eq!(role("cache")["exists"], false);
    let free = role("prefix")["free_bytes"].as_u64().unwrap();
    assert!(free <= role("prefix")["total_bytes"].as_u64().unwrap());
    as_documented("scr doctor --json", &[found]);
}
