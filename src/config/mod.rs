//! Parameters: one table, several layers.
//!
//! ```text
//! environment > user file > SCR_Config > system file > compiled default
//! ```
//!
//! [`table`] defines the parameters. [`Config`] holds the settings and their places. [`Settings`] are
//! the typed values for the rest of the library. [`descriptors`] makes stores and redundancy schemes
//! from the multi-item parameters.
//!
//! Text is untrusted until it is in [`Settings`] or [`Descriptors`]: sizes are bounded by
//! [`MAX_FILE`] and [`MAX_TEXT`], and no input makes these modules panic.

mod call;
pub mod describe;
pub mod descriptors;
mod env_conf;
mod expand;
mod file;
mod layer;
mod layers;
pub mod log;
mod message;
mod read;
mod scan;
pub mod settings;
mod site;
pub mod syslog;
mod system_file;
pub mod table;
#[cfg(test)]
mod tests;
pub mod value;
mod warnings;

pub use descriptors::{Descriptors, SchemeDescriptor, StoreDescriptor, View};
pub use layer::{ConfigItem, Value};
pub use layers::{Config, ConfigSource, fold_dots};
pub use log::LogSettings;
pub use settings::{FlushType, IntervalSetting, Settings};

/// Largest configuration file, bytes.
pub const MAX_FILE: u64 = 1 << 20;

/// Longest line, `SCR_Config` text or expanded value, bytes.
pub const MAX_TEXT: usize = 1 << 16;

/// Most warnings that one file, or one call of [`Config::take_warnings`], gives.
pub const MAX_WARNINGS: usize = 100;

/// The most `STORE` lines, and the most `CKPT` lines.
pub const MAX_DESCRIPTORS: usize = 256;
