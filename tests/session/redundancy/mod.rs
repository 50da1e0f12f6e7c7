//! Redundancy: schemes and descriptors, damage, rebuild with and without a job.

mod damage;
mod descriptors;
mod holes;
mod lost_record;
mod offline;
mod open_files;
mod proven;
mod reuse;
mod scavenge;
mod scavenge_containers;
mod schemes;
