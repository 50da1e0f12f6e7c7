//! A PMIx server without one of the managers that have a file of their own here. It tells its facts
//! to programs that link with its library, which the commands do not.

use super::Manager;
use scr_engine::job::manager::ManagerKind;
use scr_engine::{Error, Result};

/// The manager of a job whose environment names only PMIx.
pub(super) struct Pmix;

impl Manager for Pmix {
    fn kind(&self) -> ManagerKind {
        ManagerKind::Pmix
    }

    /// The namespaces of PMIx belong to single launches, so no namespace names the allocation.
    fn job_id(&self) -> Result<Option<String>> {
        Ok(None)
    }

    fn programs(&self) -> &'static [&'static str] {
        &[]
    }

    fn nodes(&self) -> Result<Vec<String>> {
        Err(Error::config(
            "SCR_NODELIST",
            "is not set, and PMIx does not tell commands the nodes of a job; set it to \
                   their host list, such as node[1-4]",
        ))
    }

    fn down(&self, _: &[String]) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}
