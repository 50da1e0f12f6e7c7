//! The stops of a program at which a command looks at its memory: `scr rehearse` with `--explain` or `--list`.
//!
//! Each rank has a directory, named by [`VARIABLE`], with these files: [`COMMAND`], the process that looks; [`RECORD`], what the
//! library says of its newest stop ([`Stop`]); and [`GO`], the number of the stop after which the rank may go on. Each is
//! replaced as a whole, from a file of another name.
//!
//! ```text
//! stops 2 of scr-rs 0.1.0
//! stop 3 checkpoint
//! process 77 on node1 0b1f5c7e:4026531836
//! field 1000 8 4 8
//! name u
//! remote heat
//! file /cache/rank 0
//! name ck.1/rank 0
//! thread 7f00
//! frame 1f 2e 3d 4c
//! done
//! ```

use std::fmt::{self, Display};

/// The environment variable with the directory of a rank.
pub const VARIABLE: &str = "SCR_REHEARSAL_STOPS";
/// The process id of the command, and its machine, in a line each.
pub const COMMAND: &str = "command";
/// The newest stop of the rank.
pub const RECORD: &str = "stop";
/// The number of the stop after which the rank may go on.
pub const GO: &str = "go";

/// Counts the forms that a record has had. What has another number is not read.
const FORM: u32 = 2;

/// The registers that a called function must keep, by their numbers in DWARF. The values of a frame are in this order.
#[cfg(target_arch = "x86_64")]
pub const REGISTERS: [u16; 6] = [3, 6, 12, 13, 14, 15];
/// The registers that a called function must keep, by their numbers in DWARF. The values of a frame are in this order.
#[cfg(not(target_arch = "x86_64"))]
pub const REGISTERS: [u16; 11] = [19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29];

/// The reason for a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The program has read a checkpoint.
    Restored,
    /// A checkpoint is complete.
    Checkpoint,
    /// Another dataset is complete.
    Output,
    /// `SCR_Finalize` begins.
    End,
}

/// The moments in the record.
const WORDS: [(Moment, &str); 4] = [
    (Moment::Restored, "restored"),
    (Moment::Checkpoint, "checkpoint"),
    (Moment::Output, "output"),
    (Moment::End, "end"),
];

/// A field in the list of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its first element.
    pub address: u64,
    /// Size of an element, bytes.
    pub size: u64,
    /// Numbers of elements, and their distances in bytes.
    pub dims: Vec<(u64, i64)>,
}

/// A frame of the thread that has stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Frame {
    /// The next instruction.
    pub instruction: u64,
    /// What the unwinder says is the canonical address, which is that of the frame before.
    pub cfa: u64,
    /// The frame pointer.
    pub pointer: u64,
    /// The address of the values of its [`REGISTERS`].
    pub registers: u64,
}

/// A stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// It is the rank's stop of this number; the first one has number 1.
    pub number: u64,
    /// The reason.
    pub moment: Moment,
    /// The process id.
    pub process: u32,
    /// The machine on which the id is known, in one line.
    pub machine: String,
    /// What the program has listed last.
    pub fields: Vec<Field>,
    /// The names of fields in memory that the processor does not read, as that of a device.
    pub remote: Vec<String>,
    /// The files of the dataset that was written last: names in the program, and paths.
    pub files: Vec<(String, String)>,
    /// The address from which the thread's own variables are counted; 0 if that is not known.
    pub thread: u64,
    /// The frames of the thread, the innermost first.
    pub frames: Vec<Frame>,
}

/// The record is not of this form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherForm {
    /// The release of the library that has written it, if it says so.
    pub release: Option<String>,
}

impl Stop {
    /// The text of the record. `release`: that of the library.
    pub fn encode(&self, release: &str) -> String {
        let word = WORDS.iter().find(|(moment, _)| *moment == self.moment);
        let word = word.map_or("end", |(_, word)| word);
        let mut text = format!(
            "stops {FORM} of scr-rs {release}\nstop {} {word}\nprocess {} on {}\n",
            self.number, self.process, self.machine
        );
        for field in &self.fields {
            text.push_str(&format!("{field}\nname {}\n", in_a_line(&field.name)));
        }
        for name in &self.remote {
            text.push_str(&format!("remote {}\n", in_a_line(name)));
        }
        for (name, path) in &self.files {
            text.push_str(&format!("file {path}\nname {}\n", in_a_line(name)));
        }
        text.push_str(&format!("thread {:x}\n", self.thread));
        for frame in &self.frames {
            text.push_str(&format!("{frame}\n"));
        }
        text + "done\n"
    }

    /// Reads a record.
    ///
    /// # Errors
    /// It has another form than this release writes.
    pub fn decode(text: &str) -> Result<Self, OtherForm> {
        let first = text.lines().next().unwrap_or_default();
        let release = first.split_once(" of scr-rs ").map(|(_, last)| last);
        let other = || OtherForm {
            release: release.map(String::from),
        };
        let ours = format!("stops {FORM} of scr-rs ");
        let rest = first.starts_with(&ours).then(|| Self::read(text));
        rest.flatten().ok_or_else(other)
    }

    fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines().skip(1);
        let mut words = lines.next()?.strip_prefix("stop ")?.split(' ');
        let number = words.next()?.parse().ok()?;
        let word = words.next()?;
        let (moment, _) = WORDS.iter().find(|(_, own)| *own == word)?;
        let (process, machine) = lines.next()?.strip_prefix("process ")?.split_once(" on ")?;
        let mut stop = Stop {
            number,
            moment: *moment,
            process: process.parse().ok()?,
            machine: machine.to_string(),
            fields: Vec::new(),
            remote: Vec::new(),
            files: Vec::new(),
            thread: 0,
            frames: Vec::new(),
        };
        for line in lines {
            match line.split_once(' ') {
                None if line == "done" => return Some(stop),
                Some(("field", rest)) => stop.fields.push(field(rest)?),
                Some(("remote", name)) => stop.remote.push(name.to_string()),
                Some(("file", path)) => stop.files.push((String::new(), path.into())),
                // Files come after all fields.
                Some(("name", rest)) => {
                    let field = stop.fields.last_mut().map(|field| &mut field.name);
                    let file = stop.files.last_mut().map(|(name, _)| name);
                    *file.or(field)? = rest.to_string();
                }
                Some(("thread", rest)) => stop.thread = hexadecimal(rest)?,
                Some(("frame", rest)) => stop.frames.push(frame(rest)?),
                _ => return None,
            }
        }
        None
    }
}

impl Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "field {:x} {}", self.address, self.size)?;
        let mut dims = self.dims.iter();
        dims.try_for_each(|(count, stride)| write!(f, " {count} {stride}"))
    }
}

impl Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "frame {:x} {:x} {:x} {:x}",
            self.instruction, self.cfa, self.pointer, self.registers
        )
    }
}

fn in_a_line(name: &str) -> String {
    name.replace(char::is_control, " ")
}

fn hexadecimal(word: &str) -> Option<u64> {
    u64::from_str_radix(word, 16).ok()
}

fn field(text: &str) -> Option<Field> {
    let mut words = text.split(' ');
    let mut field = Field {
        name: String::new(),
        address: hexadecimal(words.next()?)?,
        size: words.next()?.parse().ok()?,
        dims: Vec::new(),
    };
    while let Some(count) = words.next() {
        let stride = words.next()?.parse().ok()?;
        field.dims.push((count.parse().ok()?, stride));
    }
    Some(field)
}

fn frame(text: &str) -> Option<Frame> {
    let mut words = text.split(' ');
    let mut next = || hexadecimal(words.next()?);
    Some(Frame {
        instruction: next()?,
        cfa: next()?,
        pointer: next()?,
        registers: next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop() -> Stop {
        let field = |name: &str, address, dims: &[(u64, i64)]| Field {
            name: name.into(),
            address,
            size: 8,
            dims: dims.to_vec(),
        };
        Stop {
            number: 3,
            moment: Moment::Checkpoint,
            process: 77,
            machine: "node1 0b1f:402".into(),
            fields: vec![
                field("u", 0x1000, &[(4, 8)]),
                field("the wind", 0x2000, &[(3, -16), (2, 256)]),
                field("count", 0x3000, &[]),
            ],
            remote: vec!["heat".into(), "on the other side".into()],
            files: vec![("ck.1/rank 0".into(), "/cache/rank 0".into())],
            thread: 0x7f00,
            frames: vec![
                Frame {
                    instruction: 0x1f,
                    cfa: 0x2e,
                    pointer: 0x3d,
                    registers: 0x4c,
                },
                Frame::default(),
            ],
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let text = stop().encode("0.1.0");
        assert_eq!(Stop::decode(&text), Ok(stop()));
        let begin = "stops 2 of scr-rs 0.1.0\nstop 3 checkpoint\nprocess 77 on node1 0b1f:402\nfield 1000 8 4 8\nname u\n\
                     field 2000 8 3 -16 2 256\nname the wind\nfield 3000 8\nname count\nremote heat\nremote on the other side\nfile /cache/rank 0\nname ck.1/rank 0\n\
                     thread 7f00\nframe 1f 2e 3d 4c\n";
        assert!(text.starts_with(begin), "{text}");
        for (moment, _) in WORDS {
            let one = Stop { moment, ..stop() };
            assert_eq!(
                Stop::decode(&one.encode("1")).map(|read| read.moment),
                Ok(moment)
            );
        }
    }

    #[test]
    fn another_form_is_told_with_the_release_that_writes_it() {
        let release = |text: &str| Stop::decode(text).map_err(|other| other.release);
        let text = stop().encode("0.1.0");
        let newer = text.replacen("stops 2 of scr-rs 0.1.0", "stops 3 of scr-rs 0.9.0", 1);
        assert_eq!(release(&newer), Err(Some("0.9.0".into())));
        assert_eq!(release("stop 1 checkpoint 0\nprocess 7\ndone\n"), Err(None));
        assert_eq!(release(""), Err(None));
        // What is cut, or has what no release writes.
        let cut = text.strip_suffix("done\n").unwrap();
        assert_eq!(release(cut), Err(Some("0.1.0".into())));
        let strange = text.replacen("thread", "fiber", 1);
        assert!(release(&strange).is_err());
        assert!(release(&text.replacen("checkpoint", "moment", 1)).is_err());
    }
}
