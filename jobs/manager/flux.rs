//! Flux.

use super::{Manager, among, hosts, id};
use scr_engine::Result;
use scr_engine::job::Environment;
use scr_engine::job::manager::ManagerKind;
use scr_engine::job::program::ask;

/// The manager of an instance of Flux.
pub(super) struct Flux(pub Environment);

impl Manager for Flux {
    fn kind(&self) -> ManagerKind {
        ManagerKind::Flux
    }

    /// The id of the instance. The script of a batch job has no FLUX_JOB_ID, which only programs
    /// inside the instance have.
    fn job_id(&self) -> Result<Option<String>> {
        match id(&self.0) {
            Some(id) => Ok(Some(id)),
            None => {
                let id = ask(&self.0, "flux", &["getattr", "jobid"], &[])?;
                Ok(Some(id.trim().to_string()).filter(|id| !id.is_empty()))
            }
        }
    }

    fn programs(&self) -> &'static [&'static str] {
        &["flux"]
    }

    fn nodes(&self) -> Result<Vec<String>> {
        let list = ask(&self.0, "flux", &["getattr", "hostlist"], &[])?;
        hosts([list.trim()].into_iter())
    }

    fn down(&self, nodes: &[String]) -> Result<Vec<String>> {
        let arguments = [
            "resource",
            "list",
            "--no-header",
            "--states=down",
            "--format={nodelist}",
        ];
        let answer = ask(&self.0, "flux", &arguments, &[])?;
        let down = hosts(answer.lines().map(str::trim))?;
        Ok(among(nodes, &down))
    }
}
