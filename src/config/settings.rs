//! The parameters of the library as typed fields.

use super::layers::Config;
use super::log::LogSettings;
use super::read::Read;
use super::table::AUTO;
use super::value::cores;
use crate::Result;
use crate::job::signal;
use serde::{Serialize, Serializer};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The way in which files are moved to the prefix directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum FlushType {
    /// The call returns when the files are there (SYNC).
    Sync,
    /// Threads move the files, in the background if SCR_FLUSH_ASYNC=1 (PTHREAD; also DEFAULT, NATIVE, and without
    /// their hardware DATAWARP and BBAPI).
    Background,
    /// The transfer daemon of each node moves the files in the background, if one is running (DAEMON).
    Daemon,
}

impl FlushType {
    /// The value for a word of the table.
    pub(super) fn from_word(word: &str) -> Self {
        match word {
            "SYNC" => FlushType::Sync,
            "DAEMON" => FlushType::Daemon,
            _ => FlushType::Background,
        }
    }
}

/// The times at which `SCR_CHECKPOINT_INTERVAL` asks for checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalSetting {
    /// A checkpoint after this many calls of `SCR_Need_checkpoint`; 0 for never.
    Calls(u64),
    /// A checkpoint after a time that SCR computes.
    Auto,
}

impl Serialize for IntervalSetting {
    fn serialize<S: Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            IntervalSetting::Calls(calls) => s.serialize_u64(*calls),
            IntervalSetting::Auto => s.serialize_str(AUTO),
        }
    }
}

/// The settings of the library. The fields are the parameters of `docs/parameters.md`, in that order
/// and with those units. `None` means "not set".
///
/// The serialized fields must be the same on all ranks; `SCR_Init` compares them. Skipped fields may
/// differ: each process has its own, only rank 0 uses them, or they follow from another field.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
#[allow(missing_docs)] // each field is the parameter of that name
pub struct Settings {
    /// The value of rank 0 is used.
    #[serde(skip)]
    pub enable: bool,
    /// The value of rank 0 is used.
    #[serde(skip)]
    pub debug: u8,
    /// Absolute, folded.
    #[serde(serialize_with = "as_bytes")]
    pub prefix: PathBuf,
    /// Without `/`; detected if `None`. The value of rank 0 is used.
    #[serde(skip)]
    pub user_name: Option<String>,
    /// Without `/`; detected if `None`. The value of rank 0 is used.
    #[serde(skip)]
    pub job_id: Option<String>,
    pub job_name: Option<String>,
    pub cluster_name: Option<String>,
    /// The value of rank 0 is used.
    #[serde(skip)]
    pub serial: bool,
    /// Without `/`; the host name if `None`. The value of this process is used.
    #[serde(skip)]
    pub node_name: Option<String>,
    /// Absolute. The value of this process is used.
    #[serde(skip)]
    pub cntl_base: PathBuf,
    /// Absolute. The value of this process is used.
    #[serde(skip)]
    pub cache_base: PathBuf,
    pub cache_size: u64,
    pub cache_check: bool,
    pub cache_bypass: bool,
    /// The word as it was written; see `SchemeKind::from_word`.
    pub copy_type: String,
    pub group: String,
    pub set_size: u32,
    pub set_failures: u32,
    pub mpi_buf_size: usize,
    pub file_buf_size: usize,
    pub copy_metadata: bool,
    pub distribute: bool,
    pub cache_purge: bool,
    pub prefix_purge: bool,
    pub fetch: bool,
    /// True also with SCR_GLOBAL_RESTART.
    pub fetch_bypass: bool,
    pub fetch_width: usize,
    pub current: Option<String>,
    pub require_restart: bool,
    pub start_anew: bool,
    pub device_strict: bool,
    pub flush: u64,
    pub flush_type: FlushType,
    pub flush_width: usize,
    pub flush_async: bool,
    pub flush_poststage: bool,
    pub flush_async_bw: u64,
    pub flush_async_percent: f64,
    pub flush_async_usleep: u64,
    /// Time without progress after which a transfer daemon is left out, seconds.
    pub flush_daemon_timeout: u64,
    /// Numbers of processors; empty for all. The value of this process is used.
    #[serde(skip)]
    pub flush_async_cores: Vec<usize>,
    /// True also with SCR_GLOBAL_RESTART.
    pub flush_on_restart: bool,
    pub global_restart: bool,
    pub drop_after_current: bool,
    /// 0: no limit.
    pub prefix_size: u64,
    pub use_containers: bool,
    pub container_size: u64,
    /// Record and verify checksums in the prefix directory.
    pub crc_on_flush: bool,
    /// Verify checksums of files that are fetched into the cache.
    pub crc_on_copy: bool,
    /// Compare files with their checksums before they are deleted from the cache.
    pub crc_on_delete: bool,
    /// Keep files that the library writes over open and mapped. Not where files are read before they are deleted.
    pub cache_mapped: bool,
    pub checkpoint_interval: IntervalSetting,
    pub checkpoint_seconds: u64,
    /// Percent.
    pub checkpoint_overhead: f64,
    /// Seconds.
    pub mean_time_to_failure: u64,
    /// `None` if it is not set anywhere.
    pub halt_seconds: Option<u64>,
    pub halt_exit: bool,
    /// Numbers of signals.
    pub halt_signals: Vec<i32>,
    /// Seconds since 1970.
    pub end_time: Option<u64>,
    /// The places where events are recorded; `None` without any. The value of rank 0 is used.
    #[serde(skip)]
    pub log: Option<LogSettings>,
}

impl Settings {
    /// Converts all parameters of the library. One error names all that cannot be converted.
    pub fn from(config: &Config) -> Result<Settings> {
        let mut read = Read::of(config);
        let global_restart = read.bool("SCR_GLOBAL_RESTART");
        let settings = Settings {
            enable: read.bool("SCR_ENABLE"),
            debug: read.int("SCR_DEBUG"),
            prefix: read.prefix(),
            user_name: read.text("SCR_USER_NAME"),
            job_id: read.text("SCR_JOB_ID"),
            job_name: read.text("SCR_JOB_NAME"),
            cluster_name: read.text("SCR_CLUSTER_NAME"),
            serial: read.bool("SCR_SERIAL"),
            node_name: read.text("SCR_NODE_NAME"),
            cntl_base: read.base("SCR_CNTL_BASE"),
            cache_base: read.base("SCR_CACHE_BASE"),
            cache_size: read.int("SCR_CACHE_SIZE"),
            cache_check: read.bool("SCR_CACHE_CHECK"),
            cache_bypass: read.bool("SCR_CACHE_BYPASS"),
            copy_type: read.text("SCR_COPY_TYPE").unwrap_or_default(),
            group: read.text("SCR_GROUP").unwrap_or_default(),
            set_size: read.int("SCR_SET_SIZE"),
            set_failures: read.int("SCR_SET_FAILURES"),
            mpi_buf_size: read.size("SCR_MPI_BUF_SIZE"),
            file_buf_size: read.size("SCR_FILE_BUF_SIZE"),
            copy_metadata: read.bool("SCR_COPY_METADATA"),
            distribute: read.bool("SCR_DISTRIBUTE"),
            cache_purge: read.bool("SCR_CACHE_PURGE"),
            prefix_purge: read.bool("SCR_PREFIX_PURGE"),
            fetch: read.bool("SCR_FETCH"),
            fetch_bypass: read.bool("SCR_FETCH_BYPASS") || global_restart,
            fetch_width: read.int("SCR_FETCH_WIDTH"),
            current: read.text("SCR_CURRENT"),
            require_restart: read.bool("SCR_REQUIRE_RESTART"),
            start_anew: read.bool("SCR_START_ANEW"),
            device_strict: read.bool("SCR_DEVICE_STRICT"),
            flush: read.int("SCR_FLUSH"),
            // Without a type, SCR_FLUSH_ASYNC alone asks for a flush in the background.
            flush_type: match config.find("SCR_FLUSH_TYPE") {
                None if read.bool("SCR_FLUSH_ASYNC") => FlushType::Background,
                _ => FlushType::from_word(&read.text("SCR_FLUSH_TYPE").unwrap_or_default()),
            },
            flush_width: read.int("SCR_FLUSH_WIDTH"),
            flush_async: read.bool("SCR_FLUSH_ASYNC"),
            flush_poststage: read.bool("SCR_FLUSH_POSTSTAGE"),
            flush_async_bw: read.size("SCR_FLUSH_ASYNC_BW"),
            flush_async_percent: read.percent("SCR_FLUSH_ASYNC_PERCENT"),
            flush_async_usleep: read.int("SCR_FLUSH_ASYNC_USLEEP"),
            flush_daemon_timeout: read.int("SCR_FLUSH_DAEMON_TIMEOUT"),
            flush_async_cores: cores(&read.text("SCR_FLUSH_ASYNC_CORES").unwrap_or_default())
                .unwrap_or_default(),
            flush_on_restart: read.bool("SCR_FLUSH_ON_RESTART") || global_restart,
            global_restart,
            drop_after_current: read.bool("SCR_DROP_AFTER_CURRENT"),
            prefix_size: read.int("SCR_PREFIX_SIZE"),
            use_containers: read.bool("SCR_USE_CONTAINERS"),
            container_size: read.size("SCR_CONTAINER_SIZE"),
            crc_on_flush: read.bool("SCR_CRC_ON_FLUSH"),
            crc_on_copy: read.bool("SCR_CRC_ON_COPY"),
            crc_on_delete: read.bool("SCR_CRC_ON_DELETE"),
            cache_mapped: read.bool("SCR_CACHE_MAPPED") && !read.bool("SCR_CRC_ON_DELETE"),
            checkpoint_interval: read
                .count_or_word("SCR_CHECKPOINT_INTERVAL")
                .map_or(IntervalSetting::Auto, IntervalSetting::Calls),
            checkpoint_seconds: read.int("SCR_CHECKPOINT_SECONDS"),
            checkpoint_overhead: read.percent("SCR_CHECKPOINT_OVERHEAD"),
            mean_time_to_failure: read.int("SCR_MEAN_TIME_TO_FAILURE"),
            halt_seconds: read
                .optional_int("SCR_HALT_SECONDS")
                .filter(|_| config.find("SCR_HALT_SECONDS").is_some()),
            halt_exit: read.bool("SCR_HALT_EXIT"),
            halt_signals: signal::numbers(&read.text("SCR_HALT_SIGNALS").unwrap_or_default()),
            end_time: read.optional_int("SCR_END_TIME"),
            log: LogSettings::read(&mut read),
        };
        read.end(settings)
    }
}

/// A path need not be UTF-8.
fn as_bytes<S: Serializer>(path: &Path, s: S) -> std::result::Result<S::Ok, S::Error> {
    s.serialize_bytes(path.as_os_str().as_bytes())
}
