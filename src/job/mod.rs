//! Who and where am I: user, job, node, time left.
pub mod clock;

use crate::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
/// TEMP
#[derive(Debug, Clone, Default)]
pub struct Environment {
    pub vars: BTreeMap<String, String>,
    pub cwd: PathBuf,
    pub host: String,
    pub uid: u32,
    pub user_from_db: Option<String>,
}
/// TEMP
pub struct Found {
    pub value: String,
    pub origin: String,
}
/// TEMP
pub fn node_name(_e: &Environment, _l: &dyn Fn(&str) -> Option<String>) -> Result<Found> {
    unreachable!()
}
/// TEMP
pub fn user_name(_e: &Environment, _l: &dyn Fn(&str) -> Option<String>) -> Result<Found> {
    unreachable!()
}
/// TEMP
pub fn job_id(_e: &Environment, _l: &dyn Fn(&str) -> Option<String>, _p: &Path) -> Result<Found> {
    unreachable!()
}
/// TEMP
pub fn end_time(_e: &Environment, _l: &dyn Fn(&str) -> Option<String>) -> Result<Option<i64>> {
    unreachable!()
}
