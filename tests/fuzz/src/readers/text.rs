//! Readers of text: log, configuration, `SCR_Config`, lists of hosts, configurations of FTI and VELOC.

use super::{fixtures, scratch};
use scr::config::{Config, Settings, describe};
use scr::job::{Environment, clock};
use scr::log::{Record, read_end, read_text};
use scr::store::posix::Posix;
use scr_jobs::hostlist;
use std::path::Path;

fn lines(all: &[&str]) -> Vec<Vec<u8>> {
    all.iter().map(|text| text.as_bytes().to_vec()).collect()
}

pub fn logs() -> Vec<Vec<u8>> {
    lines(&[
        "2026-11-21T00:42:08: host=n1, jobid=77, event=HALT, note=\"node \"n2\" is C:\\off\", dset=-1, \
         secs=0.250000\n",
        "2026-11-21T00:42:08: host=\"n1\", jobid=\"7\", event=START, msec=17\n2026-11-21T00:42:09: host=n1, \
         jobid=7, event=CHECKPOINT_START, dset=3, name=\"a b\"\n",
        "2026-11-21T00:42:08: host=n1, jobid=7, xfer=FLUSH_SYNC, from=/a, to=/b, start=2026-11-21T00:42:08, \
         end=2026-11-21T00:42:09, secs=1.5, bytes=100, files=2, dset=1\n",
    ])
}

pub fn log(bytes: &[u8]) {
    let path = scratch().join("log");
    std::fs::write(&path, bytes).expect("a file in memory");
    let mut count = 0;
    let each = |_: Record| {
        count += 1;
        scr::Result::Ok(())
    };
    let not_read = read_text(&path, each).expect("the file can be read");
    let most = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
    assert!(count + not_read.count as usize <= most);
    read_end(&Posix, &path, 1 << 20, |_| ()).expect("the file can be read");
    read_end(&Posix, &path, 100, |_| ()).expect("the file can be read");
}

pub fn configurations() -> Vec<Vec<u8>> {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scr.conf.sample");
    let sample = std::fs::read(sample).expect("the sample of the documents");
    let mut all = lines(&[
        "SCR_FLUSH=10\nSCR_CACHE_SIZE=2 # two\n",
        "CKPT=0 INTERVAL=1 GROUP=NODE STORE=/tmp TYPE=XOR SET_SIZE=16\n",
        "STORE=/dev/shm GROUP=NODE COUNT=1 MKDIR=0 VIEW=GLOBAL FLUSH=SYNC\nGROUPS=n1 RACK=r1 POWER=p1\n",
        "SCR_SITE_ONLY=SCR_CACHE_BASE,SCR_FLUSH\nSCR_ALLOWED_BASES=/tmp,/dev/shm\n",
        "SCR_PREFIX=$HOME/${USER}x\n\tSCR_LOG_ENABLE = \"1\"\r\n",
    ]);
    all.push(sample);
    // The first byte tells what the file is.
    let kinds = 0..2;
    let both = kinds.flat_map(|kind| {
        all.clone().into_iter().map(move |mut text| {
            text.insert(0, kind);
            text
        })
    });
    both.collect()
}

/// A system or user configuration file, as a start reads it.
pub fn configuration(bytes: &[u8]) {
    let Some((kind, text)) = bytes.split_first() else {
        return;
    };
    let environment = Environment::empty()
        .with_host("n1")
        .with_cwd("/prefix")
        .with("SCR_PREFIX", "/prefix")
        .with("SCR_CONF_FILE", "/user.conf")
        .with("SCR_SYSTEM_CONF", "/system.conf")
        .with("HOME", "/home/user1");
    let wanted = if kind % 2 == 0 {
        "/user.conf"
    } else {
        "/system.conf"
    };
    let read = |path: &Path| Ok((path == Path::new(wanted)).then(|| text.to_vec()));
    let mut config = Config::new();
    if config
        .load(environment, Path::new("/prefix"), &read)
        .is_err()
    {
        return;
    }
    config.app_conf();
    config.env_conf();
    if let Ok(settings) = Settings::from(&config)
        && let Ok(descriptors) = describe::descriptors(&config, &settings, "n1")
    {
        assert!(!descriptors.stores.is_empty());
    }
}

pub fn calls() -> Vec<Vec<u8>> {
    lines(&[
        "SCR_FLUSH=10\nSCR_FLUSH\nSCR_FLUSH=\n",
        "CKPT=0 INTERVAL=1 TYPE=XOR SET_SIZE=\nCKPT=0 TYPE\nCKPT\n",
        "STORE = /tmp COUNT=2\nSCR_PREFIX=\"a b\"\nSCR_DEBUG =1\nHOME\n",
    ])
}

/// Texts of `SCR_Config`, one a line.
pub fn call(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut config = Config::new();
    for line in text.split('\n').take(50) {
        let asked = config.ask(line);
        if let Ok(Some(value)) = config.call(line) {
            assert_eq!(asked, Ok(Some(value)), "a query has one answer");
        }
    }
}

pub fn hosts() -> Vec<Vec<u8>> {
    lines(&[
        "n1,n2,n[3-5,007-010],n9x",
        "rack[1-2]node[1-3]",
        "n1 n2\nn3",
        "2026-11-21T00:42:08",
    ])
}

pub fn host(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = clock::parse(&text);
    let Ok(all) = hostlist::expand(&text) else {
        return;
    };
    let short = hostlist::compress(&all);
    let mut again = hostlist::expand(&short).expect("what is written can be read");
    let mut once = hostlist::unique(all);
    again = hostlist::unique(again);
    again.sort();
    once.sort();
    assert_eq!(again, once, "{short}");
    assert!(hostlist::minus(&once, &again).is_empty());
}

pub fn imports() -> Vec<Vec<u8>> {
    let mut all = lines(&[
        "scratch = /dev/shm/veloc\npersistent = /p/veloc\nmode = async\naxl_type = AXL_XFER_SYNC\n",
        "[Basic]\nhead = 0\nnode_size = 2\nckpt_dir = /local\nglbl_dir = /global\nmeta_dir = /meta\nckpt_l1 = \
         3\nckpt_l2 = 5\nckpt_l3 = 7\nckpt_l4 = 11\n[Restart]\nfailure = 0\n[Advanced]\nblock_size = 1024\n",
    ]);
    let dir = fixtures();
    for name in ["config.fti", "veloc.cfg"] {
        all.extend(std::fs::read(dir.join(name)));
    }
    all
}

pub fn import(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(page) = scr::cli::imported(Path::new("/home/user1/config"), &text) {
        let mut config = Config::new();
        let file = Path::new("/prefix/.scrconf");
        let read = |path: &Path| Ok((path == file).then(|| page.clone().into_bytes()));
        let environment = Environment::empty().with("SCR_PREFIX", "/prefix");
        config
            .load(environment, Path::new("/prefix"), &read)
            .expect("what was written is a configuration file");
    }
}
