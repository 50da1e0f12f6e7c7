//! `scr extract`: plain files from containers.

use crate::sandbox::{Said, program, said};
use crate::site::{Site, content, nodes};
use std::path::{Path, PathBuf};

/// 20,000 files of 4 KiB of four ranks.
const FILES: usize = 5_000;

fn name(rank: usize, file: usize) -> String {
    format!("ck/{}/r{rank}.{file}", file % 10)
}

/// A prefix directory with dataset 1, `ck`, of so many files a rank, in containers.
fn site(ranks: usize, files: usize, size: usize) -> Site {
    let site = Site::new()
        .set("SCR_FLUSH", "1")
        .set("SCR_COPY_TYPE", "SINGLE")
        .set("SCR_USE_CONTAINERS", "1")
        .set("SCR_CONTAINER_SIZE", "16m");
    site.run(&nodes(ranks), |rank| {
        rank.session
            .start_output(Some("ck".into()), true, false)
            .unwrap();
        for file in 0..files {
            let name = name(rank.rank, file);
            let path = rank.session.route(Path::new(&name)).unwrap();
            std::fs::write(path, content(&name, rank.rank, size)).unwrap();
        }
        rank.session.complete_output(true).unwrap();
    });
    site
}

fn extract(site: &Site, args: &[&str]) -> Said {
    let mut command = program("scr", &[&["extract"], args].concat());
    said(command.current_dir(site.prefix()).output().unwrap())
}

fn expect(dir: &Path, ranks: usize, files: usize, size: usize) {
    for (rank, file) in (0..ranks).flat_map(|r| (0..files).map(move |f| (r, f))) {
        let name = name(rank, file);
        assert!(
            std::fs::read(dir.join(&name)).unwrap() == content(&name, rank, size),
            "{name}"
        );
    }
}

#[test]
fn twenty_thousand_files_are_restored() {
    let site = site(4, FILES, 4096);
    let to = site.outside();
    let out = extract(&site, &["ck", "--to", to.to_str().unwrap()]).out();
    let expected = format!(
        "Dataset 1 (`ck'): 20000 files with 81920000 bytes written below {}, 0 there already\n",
        to.display()
    );
    assert_eq!(out, expected);
    expect(&to, 4, FILES, 4096);
    assert!(!site.prefix().join("ck").exists());
}

#[test]
fn files_go_to_their_paths_and_stay_if_they_are_there() {
    let site = site(2, 3, 100);
    let written = |count: usize, there: usize| {
        let bytes = 100 * count;
        let prefix = site.prefix();
        let prefix = prefix.display();
        let files = if count == 1 { "file" } else { "files" };
        format!(
            "Dataset 1 (`ck'): {count} {files} with {bytes} bytes written below {prefix}, {there} there \
             already\n"
        )
    };
    assert_eq!(extract(&site, &["1"]).out(), written(6, 0));
    expect(&site.prefix(), 2, 3, 100);
    let other = site.prefix().join(name(1, 2));
    std::fs::write(&other, "other").unwrap();
    std::fs::remove_file(site.prefix().join(name(0, 0))).unwrap();
    let said = extract(&site, &["ck"]);
    assert_eq!((said.code, said.out), (1, written(1, 4)));
    assert!(
        said.err.contains("r1.2: another file is there"),
        "{}",
        said.err
    );
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "other");
    assert_eq!(extract(&site, &["ck", "--force"]).out(), written(1, 5));
    expect(&site.prefix(), 2, 3, 100);
    // The dataset is still in containers: a restart fetches it from there.
    std::fs::remove_dir_all(site.prefix().join("ck")).unwrap();
    nodes(2)
        .iter()
        .for_each(|node| std::fs::remove_dir_all(site.node(node)).unwrap());
    site.run(&nodes(2), |rank| {
        assert_eq!(rank.session.have_restart().unwrap(), Some("ck".into()));
    });
}

fn container(site: &Site) -> PathBuf {
    site.prefix().join(".scr/scr.dataset.1/ctr.0.scr")
}

#[test]
fn what_is_damaged_is_left_out_and_named() {
    let site = site(2, 3, 100);
    let mut bytes = std::fs::read(container(&site)).unwrap();
    bytes[150] ^= 1;
    bytes.truncate(550);
    std::fs::write(container(&site), bytes).unwrap();
    let said = extract(&site, &["ck"]);
    assert_eq!(said.code, 1);
    assert!(
        said.out.contains(": 4 files with 400 bytes"),
        "{}",
        said.out
    );
    for why in [
        "r0.1 has CRC32",
        "is cut short",
        "r1.2",
        "2 files could not be extracted",
    ] {
        assert!(said.err.contains(why), "{}", said.err);
    }
    assert!(!site.prefix().join(name(0, 1)).exists());
}

#[test]
fn a_plain_dataset_can_be_copied_likewise() {
    let site = site(2, 3, 100).set("SCR_USE_CONTAINERS", "0");
    let plain = |rank: &mut crate::site::Rank| {
        rank.checkpoint("plain").unwrap();
    };
    site.run(&nodes(2), plain);
    let to = site.outside();
    let args = ["plain", "--prefix", ".", "--to", to.to_str().unwrap()];
    assert!(
        extract(&site, &args)
            .out()
            .contains(": 2 files with 2007 bytes")
    );
    assert!(
        extract(&site, &args)
            .out()
            .contains(": 0 files with 0 bytes")
    );
    let path = to.join("plain/rank_1.dat");
    assert_eq!(std::fs::read(path).unwrap(), content("plain", 1, 1007));
    assert!(extract(&site, &["plain"]).out().contains("2 there already"));
}

#[test]
fn what_does_not_exist_is_refused() {
    let site = site(1, 1, 10);
    for missing in ["none", "7"] {
        let text = extract(&site, &[missing]).failed();
        assert!(text.contains(missing), "{text}");
    }
    let link = site.outside();
    std::fs::create_dir(site.dir.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", &link).unwrap();
    std::fs::create_dir(link.join("deep")).unwrap();
    std::os::unix::fs::symlink("/tmp", link.join("deep/ck")).unwrap();
    let to = link.join("deep");
    let said = extract(&site, &["ck", "--to", to.to_str().unwrap()]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(!Path::new("/tmp/0/r0.0").exists());
}
