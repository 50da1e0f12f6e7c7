//! The prefix directory: flush, fetch, deleting, and what must not be touched there.

mod any_ranks;
mod background;
mod checksums;
mod containers;
mod end_of_run;
mod fetch;
mod fixtures;
mod full_containers;
mod golden;
mod links;
mod node_copies;
mod not_read;
mod other_ranks;
mod outputs;
mod read_files;
mod refused;
mod shared_files;
mod shared_group;
mod shared_names;
mod ways;
mod window;
