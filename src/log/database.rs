//! The log in a MySQL or MariaDB database.

use super::{Destination, NotWritten, Origin, Record, Tell};
use crate::config::log::DatabaseSettings;
use crate::events::{Event, EventKind, Severity};
use crate::store::beyond_standard;
use crate::system::process;
use crate::{Error, Result};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Params, Row, Value};
use std::path::Path;
use std::time::Duration;

/// The version of the tables.
const SCHEMA_VERSION: u32 = 1;

/// Time in which the server must answer.
const ANSWER: Duration = Duration::from_secs(5);

/// MySQL's error number for a record that the table already has.
const DUPLICATE: u16 = 1062;

/// The errors after which the same statement may succeed: the server ends, a lock lasts too long, a deadlock.
const FOR_NOW: [u16; 3] = [1053, 1205, 1213];

const INSERT: &str = "INSERT INTO scrlog (writer, number, time, kind, type, user, job, prefix, host, \
                      note, source, target, dataset, name, seconds, bytes, files, processes, nodes, \
                      jobname, start) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";

const SELECT: &str = "SELECT time, kind, type, user, job, host, note, source, target, dataset, name, \
                      seconds, bytes, files, processes, nodes, jobname, start FROM scrlog \
                      WHERE prefix = ? ORDER BY id";

/// A database. Values are parameters of prepared statements, never parts of their text.
struct Database {
    settings: DatabaseSettings,
    user: String,
    prefix: String,
    tell: Tell,
    /// Identifies this writer. With the number of the record it keeps a record from being entered twice,
    /// if the server ends before it answers.
    writer: String,
    number: u64,
    /// The number of the record that is being written.
    open: Option<u64>,
    connection: Option<Conn>,
}

/// The database that the settings name. The connection is made with the first record.
pub fn open(
    settings: &DatabaseSettings,
    origin: &Origin,
    tell: &Tell,
) -> Option<Box<dyn Destination>> {
    Some(Box::new(Database::new(settings, origin, tell)))
}

impl Database {
    fn new(settings: &DatabaseSettings, origin: &Origin, tell: &Tell) -> Self {
        let random = process::random();
        Database {
            settings: settings.clone(),
            user: origin.user.clone(),
            prefix: origin.prefix.to_string_lossy().into_owned(),
            tell: tell.clone(),
            writer: format!("{random:016x}"),
            number: 0,
            open: None,
            connection: None,
        }
    }

    fn values(&self, record: &Record, number: u64) -> Vec<Value> {
        let kind = match record.event.kind() {
            EventKind::Incident => "event",
            EventKind::Transfer => "transfer",
        };
        vec![
            self.writer.as_str().into(),
            number.into(),
            record.time.into(),
            kind.into(),
            record.event.name().into(),
            record.user.as_deref().unwrap_or(&self.user).into(),
            record.job.as_str().into(),
            self.prefix.as_str().into(),
            record.host.as_str().into(),
            record.note.as_deref().into(),
            record.from.as_deref().into(),
            record.to.as_deref().into(),
            record.dset.into(),
            record.name.as_deref().into(),
            record.secs.into(),
            record.bytes.into(),
            record.files.into(),
            record.procs.into(),
            record.nodes.into(),
            record.jobname.as_deref().into(),
            record.start.into(),
        ]
    }
}

impl Destination for Database {
    fn name(&self) -> String {
        format!("the event log in {}", place(&self.settings))
    }

    fn write(&mut self, record: &Record) -> std::result::Result<(), NotWritten> {
        let number = *self.open.get_or_insert(self.number);
        let values = self.values(record, number);
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => {
                let connected = connect(&self.settings).map_err(NotWritten::Now)?;
                self.connection.insert(connected)
            }
        };
        if self.settings.debug {
            let shown: Vec<String> = values.iter().map(|value| value.as_sql(false)).collect();
            let text = format!("SCR_LOG_DB_DEBUG: {INSERT}: {}", shown.join(", "));
            (self.tell)(Severity::Debug(0), text);
        }
        let written = match connection.exec_drop(INSERT, Params::Positional(values)) {
            Err(mysql::Error::MySqlError(error)) if error.code == DUPLICATE => Ok(()),
            Err(mysql::Error::MySqlError(error)) if !FOR_NOW.contains(&error.code) => {
                let error = mysql::Error::MySqlError(error);
                Err(NotWritten::Ever(failed("write to", &self.settings, &error)))
            }
            Err(error) => {
                self.connection = None;
                return Err(NotWritten::Now(failed("write to", &self.settings, &error)));
            }
            Ok(()) => Ok(()),
        };
        self.number += 1;
        self.open = None;
        written
    }
}

/// The database in messages: `database scr on db.site`.
fn place(settings: &DatabaseSettings) -> String {
    let host = match settings.host.as_str() {
        "" => "this host",
        host => host,
    };
    format!("database {} on {host}", settings.name)
}

fn failed(action: &'static str, settings: &DatabaseSettings, error: &mysql::Error) -> Error {
    let text = match error {
        mysql::Error::MySqlError(error) => format!("{} (error {})", error.message, error.code),
        mysql::Error::DriverError(error) => error.to_string(),
        mysql::Error::IoError(error) => error.to_string(),
        other => other.to_string(),
    };
    Error::io(action, place(settings), std::io::Error::other(text))
}

/// A connection to a database with our tables.
fn connect(settings: &DatabaseSettings) -> Result<Conn> {
    let host = settings.host.as_str();
    let options = OptsBuilder::new()
        .user(Some(settings.user.as_str()).filter(|user| !user.is_empty()))
        .pass(Some(settings.password.as_str()).filter(|password| !password.is_empty()))
        .db_name(Some(settings.name.as_str()))
        .prefer_socket(false)
        .tcp_connect_timeout(Some(ANSWER))
        .read_timeout(Some(ANSWER))
        .write_timeout(Some(ANSWER));
    let port = host.rsplit_once(':');
    let port = port.and_then(|(name, port)| Some((name, port.parse::<u16>().ok()?)));
    let options = match port {
        _ if Path::new(host).is_absolute() => options.socket(Some(host)),
        Some((name, port)) => options.ip_or_hostname(Some(name)).tcp_port(port),
        None if host.is_empty() => options.ip_or_hostname(Some("localhost")),
        None => options.ip_or_hostname(Some(host)),
    };
    let mut connection = beyond_standard(|| Conn::new(options))
        .map_err(|error| failed("connect to", settings, &error))?;
    let version: Option<u32> = connection
        .query_first("SELECT version FROM scrlog_version")
        .map_err(|error| {
            let error = failed("read the tables of", settings, &error);
            Error::corrupt(
                place(settings),
                format!("{error}; make them with: scr log --schema"),
            )
        })?;
    match version {
        Some(SCHEMA_VERSION) => Ok(connection),
        other => {
            let found = other.map_or("none".to_string(), |version| version.to_string());
            let what = format!(
                "its tables are of version {found}, and this SCR needs version {SCHEMA_VERSION}; make \
                 these in a database of their own with: scr log --schema"
            );
            Err(Error::corrupt(place(settings), what))
        }
    }
}

/// Reads the records of a prefix directory, in order. Gives the number of rows that could not be read.
///
/// # Errors
/// The database cannot be read, or `each` returns an error.
pub fn read_database<E: From<Error>>(
    settings: &DatabaseSettings,
    prefix: &Path,
    mut each: impl FnMut(Record) -> std::result::Result<(), E>,
) -> std::result::Result<u64, E> {
    let broken = |error: mysql::Error| E::from(failed("read", settings, &error));
    let mut connection = connect(settings)?;
    let prefix = prefix.to_string_lossy();
    let rows = connection
        .exec_iter(SELECT, (prefix.as_ref(),))
        .map_err(broken)?;
    let mut bad = 0;
    for row in rows {
        match record(row.map_err(broken)?) {
            Some(record) => each(record)?,
            None => bad += 1,
        }
    }
    Ok(bad)
}

/// The record of a row.
fn record(mut row: Row) -> Option<Record> {
    let kind: String = row.take_opt("kind")?.ok()?;
    let kind = match kind.as_str() {
        "transfer" => EventKind::Transfer,
        _ => EventKind::Incident,
    };
    let word: String = row.take_opt("type")?.ok()?;
    Some(Record {
        time: row.take_opt("time")?.ok()?,
        // The tables have whole seconds.
        millis: 0,
        host: row.take_opt("host")?.ok()?,
        job: row.take_opt("job")?.ok()?,
        event: Event::named(kind, &word),
        note: row.take_opt("note")?.ok()?,
        from: row.take_opt("source")?.ok()?,
        to: row.take_opt("target")?.ok()?,
        dset: row.take_opt("dataset")?.ok()?,
        name: row.take_opt("name")?.ok()?,
        secs: row.take_opt("seconds")?.ok()?,
        bytes: row.take_opt("bytes")?.ok()?,
        files: row.take_opt("files")?.ok()?,
        procs: row.take_opt("processes")?.ok()?,
        nodes: row.take_opt("nodes")?.ok()?,
        user: row.take_opt("user")?.ok()?,
        jobname: row.take_opt("jobname")?.ok()?,
        start: row.take_opt("start")?.ok()?,
    })
}
