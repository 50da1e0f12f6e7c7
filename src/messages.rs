//! The codes of messages, such as `SCR-105`. A message has its code in parentheses after its text, and `scr explain`
//! tells cause and remedy of each.

use std::fmt;

/// The code of a message. The number never changes, and is not given again to another message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(u16);

/// `SCR-105`.
impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SCR-{}", self.0)
    }
}

/// Makes a constant for each code, and the list of all.
macro_rules! codes {
    ($($name:ident = $number:literal,)*) => {
        $(
            #[doc = concat!("The code `SCR-", $number, "`.")]
            pub const $name: Code = Code($number);
        )*

        /// All codes, in the order of their numbers.
        pub const ALL: &[Code] = &[$($name),*];
    };
}

codes! {
    // The program does not start.
    ALONE_IN_THE_WORLD = 101,
    OTHER_MPI = 102,
    BAD_PARAMETER = 103,
    UNKNOWN_PARAMETER = 104,
    PREFIX_IN_USE = 105,
    CACHE_IN_USE = 106,
    UNSAFE_BASE = 107,
    STORE_IS_NO_DIRECTORY = 108,
    SCR_IS_OFF = 109,
    CALL_ORDER = 110,
    MPI_IS_OVER = 111,
    STORE_DIFFERS = 112,
    SITE_KEEPS = 113,
    BASE_NOT_ALLOWED = 114,
    NOT_OURS = 115,
    UNKNOWN_INDEX = 116,
    NO_EFFECT = 117,
    KEPT_WITH_SINGLE = 118,
    OTHER_PLACE_IN_NODE = 119,
    NO_USABLE_MPI = 120,
    WAITS_FOR_ALL = 140,
    // The program does not go on where it was.
    NO_CHECKPOINT = 201,
    OTHER_NUMBER_OF_RANKS = 202,
    LOST_FILES = 203,
    TOO_MANY_LOSSES = 204,
    WEAK_REDUNDANCY = 205,
    WRONG_CHECKSUM = 206,
    WRONG_SIZE = 207,
    FETCH_FAILED = 208,
    CANNOT_FETCH_NOW = 209,
    FILE_OF_OTHER_RANK = 210,
    INCOMPLETE_DATASET = 211,
    CHECKPOINT_REQUIRED = 212,
    NOT_VERIFIED = 213,
    FEWER_LOSSES = 214,
    NO_RECORD_LEFT = 215,
    NOT_COPIED = 216,
    FILE_IN_THE_WAY = 217,
    READ_IN_PLACE = 218,
    OUTPUT_LOST = 219,
    PURGED = 220,
    NOT_RECOVERED = 221,
    NO_SUCH_CHECKPOINT = 222,
    WRONG_TOTALS = 223,
    NO_CHECKSUMS = 224,
    NOT_READ = 225,
    OTHER_FIELDS = 240,
    CHANGED_IN_RESTART = 250,
    MENDED = 251,
    OTHER_DIRECTORY = 252,
    // A checkpoint fails.
    CACHE_FULL = 301,
    DISK_FULL = 302,
    FLUSH_FAILED = 303,
    NOT_WRITTEN = 304,
    ROUTED_TWICE = 305,
    RANKS_DIFFER = 306,
    OUTSIDE_OF_PREFIX = 307,
    WOULD_OVERWRITE = 308,
    SYMBOLIC_LINK = 309,
    CACHE_OF_ONE = 310,
    LOCKED = 311,
    NO_DAEMON = 312,
    SILENT_DAEMON = 313,
    NOT_HANDED_OVER = 314,
    STALE_RECORD = 315,
    DROPPED = 316,
    NOT_DELETED = 317,
    NOT_CHECKSUMMED = 318,
    DAMAGED_WHEN_DELETED = 319,
    EARLIER_DAEMON = 320,
    NOT_KEPT = 321,
    NO_WAY = 322,
    REDUNDANCY_WRONG = 323,
    TOO_MANY_FILES = 330,
    DIRECTORY_ROUTED = 331,
    AFTER_REFUSED_RESTART = 340,
    NONE_DUE = 390,
    // The program stops.
    JOB_SHOULD_STOP = 401,
    STOPPED_IN_FORTRAN = 402,
    END_NOT_KNOWN = 403,
    COMMUNICATION_FAILED = 404,
    // The program does not build.
    NO_CARGO = 502,
    NO_FORTRAN_COMPILER = 503,
    MOD_FILE = 504,
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_number_is_given_once() {
        assert!(super::ALL.is_sorted_by(|a, b| a.0 < b.0));
    }
}
