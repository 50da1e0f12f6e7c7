//! Decides when a dataset is flushed to the prefix directory.

/// True if a good dataset must be flushed when it completes. This holds for `output`, and for
/// checkpoints whose id is a multiple of `every` (`SCR_FLUSH`; 0 means never).
pub fn due(checkpoint: Option<u64>, output: bool, every: u64) -> bool {
    output || (every > 0 && checkpoint.is_some_and(|id| id.is_multiple_of(every)))
}

/// True if the newest checkpoint must be flushed at the end of the run.
pub fn due_at_end(in_prefix: bool, every: u64) -> bool {
    every > 0 && !in_prefix
}

#[cfg(test)]
mod tests {
    use super::{due, due_at_end};

    #[test]
    fn every_second_checkpoint_then_the_last() {
        let flushed: Vec<u64> = (1..=5).filter(|&id| due(Some(id), false, 2)).collect();
        assert_eq!(flushed, [2, 4]);
        assert!(due_at_end(false, 2));
        assert!(!due_at_end(true, 2));
    }

    #[test]
    fn zero_flushes_output_only() {
        assert!(!due(Some(10), false, 0));
        assert!(due(Some(10), true, 0));
        assert!(due(None, true, 0));
        assert!(!due(None, false, 1), "neither checkpoint nor output");
        assert!(!due_at_end(false, 0));
    }
}
