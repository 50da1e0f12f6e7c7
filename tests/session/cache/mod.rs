//! Datasets in the nodes: which are kept, whether they fit, and restarts from them.

mod capacity;
mod evict;
mod evict_flush;
mod full;
mod io_errors;
mod leftovers;
mod restart;
mod room;
mod size;
mod uneven;
