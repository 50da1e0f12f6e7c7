//! `scr import-config`: what it writes is a configuration without a complaint. Each choice is tested with
//! the command.

use crate::sandbox::Sandbox;
use std::fs;

/// All settings of FTI 1.6, as its examples have them.
const FTI: &str = "# comment
[Basic]
Head = 0
Node_size = 2
Ckpt_dir = ./Local\t#/path/to/local/storage/
Glbl_dir = ./Global \t#/path/to/global/storage/
Meta_dir = ./Meta\t#/home/username/.fti
Ckpt_L1 = 3
Ckpt_L2 = 5
Ckpt_L3 = 9
Ckpt_L4 = 11
Dcp_L4 = 0
Inline_L2 = 1
Inline_L3 = 1
Inline_L4 = 1
keep_last_ckpt = 0
keep_l4_ckpt   = 0
Group_size = 4
max_sync_intv               = 0
ckpt_io                     = 1
Enable_Staging              = 0
Enable_dCP                  = 0
dCP_Mode                    = 0
dCP_Block_Size              = 16384
Verbosity = 2
[Restart]
Failure = 0
Exec_ID = XXXX-XX-XX_XX-XX-XX
[Injection]
rank = 0
number = 0
position = 0
frequency = 0
[Advanced]
Block_size = 1024
Transfer_size = 16
general_tag = 2612
ckpt_tag = 711
stage_tag = 406
final_tag = 3107
Local_test = 1
lustre_striping_unit        = 4194304
lustre_striping_factor      = -1
lustre_striping_offset      = -1
";

const VELOC: &str = "scratch = /tmp/scratch
persistent = /tmp/persistent
#persistent = /tmp/other
mode = async
max_versions = 2
watchdog_interval = 10
axl_config = /tmp/axl.cfg
axl_type = posix
";

#[test]
fn what_is_written_is_a_configuration() {
    for (text, expected) in [
        (FTI, "CKPT=2 INTERVAL=3 SET_FAILURES=2 SET_SIZE=4 TYPE=RS"),
        (VELOC, "SCR_CACHE_BASE = /tmp/scratch\n"),
    ] {
        let sandbox = Sandbox::empty();
        fs::write(sandbox.path().join("config"), text).unwrap();
        let page = sandbox.run(&["import-config", "config"]).out();
        assert!(!page.contains("is not known here"), "{page}");
        assert!(page.lines().all(|line| line.len() <= 100), "{page}");
        fs::write(sandbox.path().join(".scrconf"), &page).unwrap();
        // Whatever is wrong with a line would be an error or a warning here.
        let set = sandbox.run(&["params", "--set"]).out();
        assert!(set.contains(expected), "{set}");
        let written = page
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        // The sandbox sets one parameter itself.
        let taken = set.lines().filter(|line| {
            line.starts_with(|c: char| c.is_ascii_uppercase())
                && !line.starts_with("SCR_SYSTEM_CONF")
        });
        assert_eq!(written.count(), taken.count(), "{page}\n{set}");
    }
}

#[test]
fn a_file_of_neither_is_refused() {
    let sandbox = Sandbox::empty();
    let path = sandbox.path().join("config");
    for (bytes, words) in [
        (&b"SCR_FLUSH = 1\n"[..], "is neither a configuration of FTI"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (&[b'a'; (1 << 20) + 1], "is larger than"),
    ] {
        fs::write(&path, bytes).unwrap();
        let message = sandbox.run(&["import-config", "config"]).failed();
        assert!(message.contains(words), "{message}");
    }
    fs::remove_file(&path).unwrap();
    let message = sandbox.run(&["import-config", "config"]).failed();
    assert!(message.contains("config: No such file"), "{message}");
    assert!(
        sandbox
            .run(&["import-config", "."])
            .failed()
            .contains("Is a directory")
    );
}
