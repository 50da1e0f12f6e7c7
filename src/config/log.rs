//! The parameters of the event log.

use super::layers::Config;
use super::read::Read;

/// The places where events are recorded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogSettings {
    /// Events are recorded in `<prefix>/.scr/log`, with files of about this many bytes; 0 for no limit.
    pub text: Option<u64>,
    /// Events are recorded in syslog.
    pub syslog: Option<SyslogSettings>,
    /// Events are recorded in a database.
    pub database: Option<DatabaseSettings>,
}

/// The form of records in syslog.
#[derive(Debug, Clone, PartialEq)]
pub struct SyslogSettings {
    /// A word of [`FACILITIES`](super::syslog::FACILITIES).
    pub facility: String,
    /// A word of [`LEVELS`](super::syslog::LEVELS).
    pub level: String,
    /// The beginning of each message.
    pub prefix: String,
    /// True if the user has asked for syslog. Otherwise it is used only if the system has one.
    pub asked: bool,
}

/// The settings for the connection to the database.
#[derive(Clone, Default, PartialEq)]
pub struct DatabaseSettings {
    /// Host, `HOST:PORT`, or the path of a socket; empty for this host.
    pub host: String,
    /// User.
    pub user: String,
    /// Password.
    pub password: String,
    /// Name of the database.
    pub name: String,
    /// Print the statements that are sent.
    pub debug: bool,
}

/// The password is not shown.
impl std::fmt::Debug for DatabaseSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = (&self.host, &self.user, &self.name, self.debug);
        shown.fmt(f)
    }
}

impl LogSettings {
    /// Reads the parameters; `None` if nothing is logged.
    ///
    /// # Errors
    /// A parameter cannot be converted.
    pub fn from(config: &Config) -> crate::Result<Option<LogSettings>> {
        let mut read = Read::of(config);
        let settings = LogSettings::read(&mut read);
        read.end(settings)
    }

    pub(super) fn read(read: &mut Read) -> Option<LogSettings> {
        let enabled = read.bool("SCR_LOG_ENABLE");
        let settings = LogSettings {
            text: read
                .bool("SCR_LOG_TXT_ENABLE")
                .then(|| read.size("SCR_LOG_TXT_SIZE")),
            syslog: read.bool("SCR_LOG_SYSLOG_ENABLE").then(|| SyslogSettings {
                facility: read.text("SCR_LOG_SYSLOG_FACILITY").unwrap_or_default(),
                level: read.text("SCR_LOG_SYSLOG_LEVEL").unwrap_or_default(),
                prefix: read.text("SCR_LOG_SYSLOG_PREFIX").unwrap_or_default(),
                asked: read.is_set("SCR_LOG_SYSLOG_ENABLE"),
            }),
            database: read
                .bool("SCR_LOG_DB_ENABLE")
                .then(|| DatabaseSettings::read(read)),
        };
        Some(settings).filter(|s| enabled && *s != LogSettings::default())
    }
}

impl DatabaseSettings {
    /// Reads the parameters, whether events are recorded in the database or not.
    ///
    /// # Errors
    /// A parameter cannot be converted.
    pub fn from(config: &Config) -> crate::Result<DatabaseSettings> {
        let mut read = Read::of(config);
        let settings = DatabaseSettings::read(&mut read);
        read.end(settings)
    }

    fn read(read: &mut Read) -> DatabaseSettings {
        DatabaseSettings {
            host: read.text("SCR_LOG_DB_HOST").unwrap_or_default(),
            user: read.text("SCR_LOG_DB_USER").unwrap_or_default(),
            password: read.text("SCR_LOG_DB_PASS").unwrap_or_default(),
            name: read.text("SCR_LOG_DB_NAME").unwrap_or_default(),
            debug: read.bool("SCR_LOG_DB_DEBUG"),
        }
    }
}
