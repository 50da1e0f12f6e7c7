//! The documents that `--json` prints. `docs/formats/json.md` describes each key; a test compares it
//! with real output.
//!
//! Names and paths may have any bytes, but JSON text is Unicode. A field `x` then has U+FFFD in place
//! of each wrong byte sequence, and a field `x_hex` beside it has the exact bytes. A name that is UTF-8
//! has no `x_hex`.

use super::call::{Failure, Invocation};
use super::details::Checksums;
use scr_engine::events::EventKind;
use scr_engine::log::Record;
use scr_engine::text::is_hidden;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt::Write as _;
use std::io::Write as _;

/// The version of all outputs. It grows if a key goes, or its type or meaning changes; new keys do not
/// change it.
const VERSION: u32 = 1;

/// An object with these keys, in this order. So a fact goes into the JSON from the type that has it.
macro_rules! object {
    ($($(#[$how:meta])* $key:ident: $value:expr),* $(,)?) => {{
        // A key is also the name of the type of its value.
        #[allow(non_camel_case_types)]
        let object = {
            #[derive(serde::Serialize)]
            struct Object<$($key),*> {
                $($(#[$how])* $key: $key),*
            }
            Object { $($key: $value),* }
        };
        object
    }};
}
pub(crate) use object;

/// Bytes under a key, and beside it under `KEY_hex` if they are not UTF-8; null if they are not known. For `#[serde(flatten)]`.
pub(super) struct Bytes<'a>(pub &'static str, pub Option<&'a [u8]>);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Bytes(key, bytes) = self;
        let mut keys = to.serialize_map(None)?;
        keys.serialize_entry(key, &bytes.map(text))?;
        if let Some(digits) = bytes.and_then(hex) {
            keys.serialize_entry(&format!("{key}_hex"), &digits)?;
        }
        keys.end()
    }
}

#[derive(Serialize)]
struct Document<'a, T> {
    version: u32,
    command: &'a str,
    #[serde(flatten)]
    body: T,
}

/// Prints the output of the command `command`.
pub(super) fn print(
    call: &mut Invocation,
    command: &str,
    body: impl Serialize,
) -> Result<(), Failure> {
    let version = VERSION;
    let document = Document {
        version,
        command,
        body,
    };
    let text = serde_json::to_string_pretty(&document)
        .map_err(|error| Failure::said(format!("cannot write JSON: {error}")))?;
    writeln!(call.out, "{}", visible(&text))?;
    Ok(())
}

/// A document with one long array, which is printed as it grows.
pub(super) struct Stream {
    command: &'static str,
    key: &'static str,
    begun: bool,
}

impl Stream {
    /// The output of the command `command`; the array has the key `key`.
    pub(super) fn new(command: &'static str, key: &'static str) -> Self {
        Stream {
            command,
            key,
            begun: false,
        }
    }

    /// Prints an element. The beginning of the document is printed with the first element, so that nothing
    /// is printed if an error comes first.
    pub(super) fn add(
        &mut self,
        call: &mut Invocation,
        element: &impl Serialize,
    ) -> Result<(), Failure> {
        let text = serde_json::to_string(element)
            .map_err(|error| Failure::said(format!("cannot write JSON: {error}")))?;
        let before = if self.begun { ",".into() } else { self.head() };
        self.begun = true;
        write!(call.out, "{before}\n    {}", visible(&text))?;
        Ok(())
    }

    /// Prints the end of the document.
    pub(super) fn end(self, call: &mut Invocation) -> Result<(), Failure> {
        if self.begun {
            writeln!(call.out, "\n  ]\n}}")?
        } else {
            writeln!(call.out, "{}]\n}}", self.head())?
        }
        Ok(())
    }

    fn head(&self) -> String {
        let Stream { command, key, .. } = self;
        format!("{{\n  \"version\": {VERSION},\n  \"command\": \"{command}\",\n  \"{key}\": [")
    }
}

/// Gives the JSON with characters that act on a terminal as `\u` escapes. Only texts in quotes can have
/// some, besides the newlines between the values.
fn visible(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter != '\n' && is_hidden(letter) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(letter)
        }
    }
    text
}

/// Bytes as text.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The bytes as hexadecimal digits; `None` if they are UTF-8.
pub(super) fn hex(bytes: &[u8]) -> Option<String> {
    let digits = || bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    std::str::from_utf8(bytes).is_err().then(digits)
}

/// The bytes that [`hex`] wrote; `None` if it is something else.
pub(super) fn of_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(byte).collect()
}

/// `scr inspect --json`
#[derive(Serialize, Deserialize)]
pub(super) struct InspectJson {
    pub node: String,
    pub datasets: Vec<CachedJson>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct CachedJson {
    pub id: u64,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_hex: Option<String>,
    pub checkpoint: bool,
    pub output: bool,
    pub ranks: u64,
    pub ranks_here: Vec<usize>,
    pub files: Option<u64>,
    pub bytes: Option<u64>,
    pub seconds: Option<f64>,
    pub bytes_per_second: Option<f64>,
    pub checksums: Option<Checksums>,
}

/// `scr diff A B --json`
#[derive(Serialize)]
pub(super) struct DiffJson {
    pub a: DiffSideJson,
    pub b: DiffSideJson,
    pub compared: u64,
    pub fields: Vec<FieldDiffJson>,
}

#[derive(Serialize)]
pub(super) struct DiffSideJson {
    pub prefix: String,
    pub id: u64,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_hex: Option<String>,
}

#[derive(Serialize, Default)]
pub(super) struct FieldDiffJson {
    pub name: String,
    pub only_in: Option<&'static str>,
    pub shapes: Option<[String; 2]>,
    pub elements: Option<ElementsJson>,
}

#[derive(Serialize)]
pub(super) struct ElementsJson {
    pub differ: u64,
    pub all: u64,
    pub first: Option<FirstJson>,
    pub greatest: Option<GreatestJson>,
}

#[derive(Serialize)]
pub(super) struct FirstJson {
    pub rank: Option<u64>,
    pub index: Vec<i64>,
    pub values: [String; 2],
}

#[derive(Serialize)]
pub(super) struct GreatestJson {
    pub absolute: f64,
    pub relative: f64,
    pub ulp: Option<u128>,
}

/// `scr doctor --json`
#[derive(Serialize)]
pub(super) struct DoctorJson {
    pub release: &'static str,
    pub interface: &'static str,
    pub good: bool,
    pub sections: Vec<SectionJson>,
    pub directories: Vec<DirectoryJson>,
    pub problems: Vec<ProblemJson>,
}

/// Facts under one heading, in words.
#[derive(Serialize, Clone)]
pub(super) struct SectionJson {
    pub title: String,
    pub facts: Vec<FactJson>,
}

#[derive(Serialize, Clone)]
pub(super) struct FactJson {
    pub name: Option<String>,
    pub text: String,
}

#[derive(Serialize, Clone)]
pub(super) struct DirectoryJson {
    pub role: String,
    pub path: String,
    pub exists: bool,
    pub file_system: Option<&'static str>,
    pub free_bytes: Option<u64>,
    pub total_bytes: Option<u64>,
}

#[derive(Serialize, Clone)]
pub(super) struct ProblemJson {
    pub problem: String,
    pub remedy: Option<String>,
}

/// A record of `scr log --json`.
pub(super) fn record(record: &Record) -> impl Serialize {
    object! {
        time: record.time,
        host: &record.host,
        job: &record.job,
        kind: match record.event.kind() {
            EventKind::Incident => "event",
            EventKind::Transfer => "transfer",
        },
        #[serde(rename = "type")]
        event: record.event.name(),
        processes: record.procs,
        nodes: record.nodes,
        note: record.note.as_deref(),
        from: record.from.as_deref(),
        to: record.to.as_deref(),
        dataset: record.dset,
        name: record.name.as_deref(),
        seconds: record.secs,
        bytes: record.bytes,
        files: record.files,
        bytes_per_second: record.rate(),
        user: record.user.as_deref(),
        job_name: record.jobname.as_deref(),
        job_start: record.start,
    }
}

#[cfg(test)]
mod tests {
    use super::{hex, text, visible};

    #[test]
    fn any_bytes_become_json_and_stay_known() {
        assert_eq!(hex("größe".as_bytes()), None);
        assert_eq!(hex(b"a\xff\x01"), Some("61ff01".to_string()));
        assert_eq!(text(b"a\xff"), "a\u{fffd}");
        let hostile = "a\u{1b}[31m\u{7f}\u{202e}\u{e0001}\"\\\n";
        let shown = visible(&serde_json::to_string(hostile).unwrap());
        assert_eq!(
            shown, r#""a\u001b[31m\u007f\u202e\udb40\udc01\"\\\n""#,
            "{shown}"
        );
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), hostile);
    }
}
