//! Random hostile bytes, from a fixed seed.

use super::super::describe::descriptors;
use super::super::{Config, Settings};
use super::load;
use crate::job::Environment;
use std::path::Path;

/// xorshift64*: short, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }

    /// Fragments of the grammar between arbitrary bytes, so that deep places are reached.
    fn text(&mut self) -> Vec<u8> {
        const PARTS: [&str; 24] = [
            "SCR_FLUSH",
            "SCR_JOB_NAME",
            "CKPT",
            "STORE",
            "GROUPS",
            "TYPE",
            "INTERVAL",
            "=",
            "=",
            "=",
            " ",
            "\n",
            "\n",
            "\"",
            "\\",
            "#",
            "$",
            "${",
            "}",
            "XOR",
            "0",
            "1",
            "/tmp",
            "\t",
        ];
        let mut out = Vec::new();
        for _ in 0..self.below(60) {
            match self.below(8) {
                0 => out.push(self.below(256) as u8),
                _ => out.extend(PARTS[self.below(PARTS.len())].as_bytes()),
            }
        }
        out
    }
}

fn loaded(bytes: &[u8]) -> Config {
    let mut config = Config::new();
    let env: Environment = [("SCR_PREFIX", "/p"), ("SCR_COPY_TYPE", "FILE")]
        .into_iter()
        .collect();
    config
        .load(env, Path::new("/"), &|_| Ok(Some(bytes.to_vec())))
        .unwrap();
    config
}

#[test]
fn no_file_is_a_panic() {
    let mut random = Random(1);
    let mut understood = 0;
    for _ in 0..3000 {
        let mut config = loaded(&random.text());
        config.take_warnings();
        let again =
            Config::from_message(&config.to_message().unwrap(), Environment::default()).unwrap();
        assert_eq!(again.to_message().unwrap(), config.to_message().unwrap());
        if let Ok(settings) = Settings::from(&config) {
            understood += usize::from(descriptors(&config, &settings, "n").is_ok());
        }
    }
    assert!(
        understood > 0,
        "the text never gets as far as a valid configuration"
    );
}

#[test]
fn a_good_line_survives_any_neighbours() {
    let mut random = Random(2);
    for _ in 0..2000 {
        let mut bytes = random.text();
        bytes.extend(b"\nSCR_GROUP=kept\n");
        bytes.extend(random.text());
        assert_eq!(
            loaded(&bytes).get("SCR_GROUP").unwrap().as_deref(),
            Some("kept")
        );
    }
}

#[test]
fn no_call_is_a_panic_and_app_conf_reads_back() {
    let mut random = Random(3);
    for _ in 0..500 {
        let mut config = Config::new();
        for _ in 0..8 {
            let text = String::from_utf8_lossy(&random.text()).to_uppercase();
            let before = config.to_message().unwrap();
            if config.call(&text).is_err() {
                assert_eq!(config.to_message().unwrap(), before, "{text:?}");
            }
        }
        let read = load(&[], &config.app_conf(), "");
        assert_eq!(read.app_conf(), "");
        for name in ["SCR_FLUSH", "SCR_PREFIX"] {
            assert_eq!(read.get(name).unwrap(), config.get(name).unwrap());
        }
        for parent in ["CKPT", "STORE", "GROUPS"] {
            let keys = |c: &Config| c.items(parent).map(|i| i.key.clone()).collect::<Vec<_>>();
            assert_eq!(keys(&read), keys(&config));
        }
    }
}

#[test]
fn damaged_messages_are_errors() {
    let whole = load(
        &[("SCR_FLUSH", "1")],
        "CKPT=0 TYPE=XOR\nSTORE=/a",
        "SCR_DEBUG=1",
    )
    .to_message()
    .unwrap();
    let decode = |bytes: &[u8]| Config::from_message(bytes, Environment::default());
    assert!(decode(&whole).is_ok());
    for length in 0..whole.len() {
        assert!(decode(&whole[..length]).is_err(), "cut to {length}");
    }
    let mut longer = whole.clone();
    longer.push(0);
    assert!(decode(&longer).is_err());
    let mut random = Random(4);
    for _ in 0..3000 {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len());
            bytes[at] = random.below(256) as u8;
        }
        if let Ok(config) = decode(&bytes) {
            let _ = Settings::from(&config);
        }
    }
}
