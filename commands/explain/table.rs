//! The explanations of all messages that have a code. `docs/faq.md` is also made from them.

use super::row::{Explanation, Section};
use super::{build, checkpoint, restart, start, stop};

/// All messages that have a code.
pub const SECTIONS: [&Section; 5] = [
    &start::START,
    &restart::RESTART,
    &checkpoint::CHECKPOINT,
    &stop::STOP,
    &build::BUILD,
];

/// All rows of [`SECTIONS`].
pub fn all_explanations() -> impl Iterator<Item = &'static Explanation> {
    SECTIONS.into_iter().flat_map(|section| section.rows)
}

/// The explanation of a code: `SCR-105`, `scr-105` or `105`.
pub(super) fn find(code: &str) -> Option<&'static Explanation> {
    let code = code.trim().to_ascii_uppercase();
    let number = code.strip_prefix("SCR-").unwrap_or(&code);
    all_explanations().find(|row| row.code.to_string() == format!("SCR-{number}"))
}

#[cfg(test)]
mod tests {
    use super::{all_explanations, find};
    use scr_engine::messages::{self, PREFIX_IN_USE};

    #[test]
    fn each_code_has_one_explanation_in_the_order_of_the_codes() {
        assert!(all_explanations().map(|row| &row.code).eq(messages::ALL));
    }

    #[test]
    fn a_code_is_found_by_all_its_spellings() {
        for spelling in ["SCR-105", "scr-105", " 105 "] {
            assert_eq!(find(spelling).map(|row| row.code), Some(PREFIX_IN_USE));
        }
        for other in ["", "SCR-", "SCR-0", "5", "SCR-SCR-105"] {
            assert!(find(other).is_none(), "{other}");
        }
    }
}
