//! Who and where am I: user, job, node, time left.
