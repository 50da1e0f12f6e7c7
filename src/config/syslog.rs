//! The words of syslog(3).

/// Facilities, as in syslog(3). The place is the number, less [`FIRST_FACILITY`].
pub const FACILITIES: &[&str] = &[
    "LOG_USER",
    "LOG_MAIL",
    "LOG_DAEMON",
    "LOG_AUTH",
    "LOG_SYSLOG",
    "LOG_LPR",
    "LOG_NEWS",
    "LOG_UUCP",
    "LOG_CRON",
    "LOG_AUTHPRIV",
    "LOG_FTP",
    "LOG_NTP",
    "LOG_AUDIT",
    "LOG_ALERT",
    "LOG_CLOCK",
    "LOG_LOCAL0",
    "LOG_LOCAL1",
    "LOG_LOCAL2",
    "LOG_LOCAL3",
    "LOG_LOCAL4",
    "LOG_LOCAL5",
    "LOG_LOCAL6",
    "LOG_LOCAL7",
];

/// The number of the first of [`FACILITIES`]: 0 is the kernel.
pub const FIRST_FACILITY: usize = 1;

/// Levels, as in syslog(3). The place is the number.
pub const LEVELS: &[&str] = &[
    "LOG_EMERG",
    "LOG_ALERT",
    "LOG_CRIT",
    "LOG_ERR",
    "LOG_WARNING",
    "LOG_NOTICE",
    "LOG_INFO",
    "LOG_DEBUG",
];
