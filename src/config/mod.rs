//! Parameters: one table, several layers.
