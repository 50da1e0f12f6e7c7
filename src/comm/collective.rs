//! Collective patterns over any [`Communicator`](super::Communicator).
