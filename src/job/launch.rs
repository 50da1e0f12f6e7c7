//! The number of processes that the launcher of this process has started together.

use super::process::Process;
use super::stat::Stat;
use crate::job::Environment;
use crate::system::process;

/// Variables in which launchers of MPI programs give the number of processes. A launcher that is started by another
/// launcher gives its own number.
const OF_LAUNCHERS: [&str; 5] = [
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "PALS_SIZE",
    "JSM_NAMESPACE_SIZE",
    "FLUX_JOB_SIZE",
];

/// The variable in which Slurm gives the number of processes of a job step. SLURM_NTASKS counts the tasks of the
/// allocation in a batch script.
const OF_STEP: &str = "SLURM_STEP_NUM_TASKS";

/// Set in a step that is a shell for a user (`srun --pty`): programs that run there are not the tasks of the step.
const TERMINAL: &str = "SLURM_PTY_PORT";

/// Most processes above this one that are looked at.
const ABOVE: usize = 64;

/// The facts that a launcher tells the processes that it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The variable with the number.
    pub variable: &'static str,
    /// Number of processes, at least 2.
    pub processes: usize,
}

/// The launch of several processes that includes this one; `None` if this process was started alone, or by a launched
/// program that has left it its environment. Local.
pub fn launch(environment: &Environment) -> Option<Launch> {
    told(environment).filter(|launch| !is_inherited(environment, launch.variable))
}

/// Reads the variables of launchers. A launcher that has started one process is believed, also inside another
/// launch.
fn told(environment: &Environment) -> Option<Launch> {
    let number = |variable: &'static str| {
        let processes = environment.get(variable)?.parse().ok()?;
        Some(Launch {
            variable,
            processes,
        })
    };
    let mut known: Vec<Launch> = OF_LAUNCHERS.iter().copied().filter_map(number).collect();
    if known.is_empty() && environment.get(TERMINAL).is_none() {
        known.extend(number(OF_STEP));
    }
    let all = known.iter().all(|launch| launch.processes > 1);
    known.into_iter().next().filter(|_| all)
}

/// True if the launcher has started another process, above this one. Between the two are neither shells nor other
/// programs that start a program under their own rank.
fn is_inherited(environment: &Environment, variable: &str) -> bool {
    let mut pid = Stat::read(process::id()).map(|stat| stat.parent);
    for _ in 0..ABOVE {
        let Some(above) = pid.and_then(|pid| Process::read(pid, environment)) else {
            return false;
        };
        if !environment
            .get(variable)
            .is_some_and(|value| above.has(variable, value))
        {
            return false;
        }
        if !above.is_starter() {
            return true;
        }
        pid = Some(above.parent);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processes(variables: &[(&str, &str)]) -> Option<usize> {
        let environment: Environment = variables.iter().copied().collect();
        launch(&environment).map(|launch| launch.processes)
    }

    #[test]
    fn launchers_and_job_steps_tell_how_many_there_are() {
        for variable in OF_LAUNCHERS.iter().chain([&OF_STEP]) {
            assert_eq!(processes(&[(variable, "4")]), Some(4), "{variable}");
            assert_eq!(processes(&[(variable, "1")]), None, "{variable}");
            assert_eq!(processes(&[(variable, "many")]), None, "{variable}");
        }
    }

    #[test]
    fn what_surrounds_a_launch_of_one_process_does_not_count() {
        // A batch script, with and without a launcher.
        let batch = ("SLURM_NTASKS", "8");
        assert_eq!(processes(&[batch, ("SLURM_PROCID", "0")]), None);
        assert_eq!(processes(&[batch, ("PMI_SIZE", "1")]), None);
        assert_eq!(processes(&[batch, ("PMI_SIZE", "4")]), Some(4));
        // A launcher in a job step, as mpiexec of Hydra starts its processes there.
        let step = (OF_STEP, "8");
        assert_eq!(processes(&[step, ("PMI_SIZE", "1")]), None);
        assert_eq!(processes(&[(OF_STEP, "1"), ("PMI_SIZE", "4")]), Some(4));
        // A shell of a user in a job step.
        assert_eq!(processes(&[step, (TERMINAL, "4711")]), None);
        // A launcher in a launch.
        let outer = ("OMPI_COMM_WORLD_SIZE", "4");
        assert_eq!(processes(&[outer, ("PMI_SIZE", "1")]), None);
        assert_eq!(processes(&[("PMI_SIZE", "4"), (outer.0, "1")]), None);
        assert_eq!(processes(&[outer, ("PMI_SIZE", "2")]), Some(4));
    }
}
