//! `scr extract`: gives the files of a dataset in containers back as plain files, or one of its fields.

use super::call::Invocation;
use super::fields::npy;
use super::{Outcome, RunCommand, dataset, place};
use scr_engine::format::Name;
use scr_engine::format::print::escaped;
use scr_engine::format::rank2file::{FileEntry, RankEntry};
use scr_engine::prefix::containers::{ContainerReader, Restored};
use scr_engine::prefix::paths::Prefix;
use scr_engine::prefix::rank2file;
use scr_engine::store::{FileKind, Files};
use scr_engine::text::counted;
use scr_engine::transfer::copy::{Content, Copier, CopyMode};
use scr_engine::{Error, Result};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Bytes that are read at a time.
const BUFFER: usize = 1 << 20;

/// Give plain files back from the containers of a dataset, or one field of it
///
/// A flush with SCR_USE_CONTAINERS=1 packs the files of a dataset into few, from which a restart
/// fetches them. This command writes them as plain files, to their paths in the prefix directory or,
/// with --to, below another directory. Sizes and checksums are compared with the records. The
/// containers stay, and a restart still uses them; `scr index --delete` deletes both. With --to, the
/// files of a dataset without containers are copied likewise.
///
/// A file that is there already stays if it has the same content. One with another content is
/// reported, and stays, too, unless --force is given.
///
/// With --field, writes one field of a checkpoint of fields to a file of numpy (.npy): the whole, from
/// the parts of all ranks, or the value that all ranks have, or with --rank what one rank has. A whole
/// by index is in the order of the indices, and the part of a rank in that of its list; of an index list,
/// the file has the indices of one rank.
///
/// Exit status: 0 all files are there, 1 some are not, or there is no such complete dataset.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Name of the dataset, or its number
    #[arg(value_name = "NAME|ID")]
    dataset: OsString,
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Write the files below this directory, which is made if it is missing
    #[arg(short, long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Write over files with another content
    #[arg(short, long)]
    force: bool,
    /// Write this field, and no file of the dataset; `scr inspect --fields` lists them
    #[arg(long, value_name = "FIELD", requires = "output", conflicts_with = "to")]
    field: Option<String>,
    /// The file to which the field is written
    #[arg(short, long, value_name = "FILE", requires = "field")]
    output: Option<PathBuf>,
    /// The values of the field that this rank wrote
    #[arg(long, value_name = "RANK", requires = "field")]
    rank: Option<usize>,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let prefix = place::used(self.prefix.as_deref())?;
        if let (Some(field), Some(output)) = (&self.field, &self.output) {
            return self.field(call, &prefix, field, output);
        }
        let to = self.to.as_deref().map(place::absolute).transpose()?;
        let files = &*call.unkept.note(place::files_and(&prefix, to.as_deref()));
        let dataset = dataset::find(files, &prefix, &Name::from(self.dataset.as_os_str()))?;
        if let Some(to) = &to {
            files.make_dirs(to)?;
        }
        let dir = prefix.dataset(dataset.id);
        let mut extraction = Extraction {
            files,
            prefix: &prefix,
            to: to.as_deref(),
            force: self.force,
            reader: ContainerReader::new(files, &dir),
            buffer: vec![0; BUFFER],
            done: Done::default(),
        };
        rank2file::for_each(files, &dir, |_, entry| {
            let problems = extraction.rank(entry);
            problems.iter().for_each(|problem| call.warn(problem));
            Ok(())
        })?;
        let done = extraction.done;
        let (id, name) = (dataset.id, escaped(&dataset.name));
        let place = to.as_deref().unwrap_or(prefix.root()).display();
        let written = counted(done.written, "file");
        writeln!(
            call.out,
            "Dataset {id} (`{name}'): {written} with {} bytes written below {place}, {} there already",
            done.bytes, done.there
        )?;
        let all = dataset.files.unwrap_or(done.all() as u64);
        if done.all() as u64 != all {
            call.warn(&format_args!(
                "the summary says that it has {}, its rank2file lists {}",
                counted(all as usize, "file"),
                done.all()
            ));
            return Ok(ExitCode::FAILURE);
        }
        if done.failed > 0 {
            call.warn(&format_args!(
                "{} could not be extracted",
                counted(done.failed, "file")
            ));
            return Ok(ExitCode::FAILURE);
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Options {
    /// Writes one field.
    fn field(&self, call: &mut Invocation, prefix: &Prefix, field: &str, output: &Path) -> Outcome {
        let files = &*place::files(prefix);
        let dataset = dataset::find(files, prefix, &Name::from(self.dataset.as_os_str()))?;
        let wanted = npy::Wanted {
            field,
            rank: self.rank,
            to: &place::absolute(output)?,
            force: self.force,
        };
        npy::extract(call, files, prefix, &dataset, &wanted)
    }
}

/// Numbers of files.
#[derive(Default)]
struct Done {
    written: usize,
    /// Bytes in these.
    bytes: u64,
    there: usize,
    failed: usize,
}

impl Done {
    fn all(&self) -> usize {
        self.written + self.there + self.failed
    }
}

struct Extraction<'a> {
    files: &'a dyn Files,
    prefix: &'a Prefix,
    /// The directory below which files are written; `None` for their paths in the prefix directory.
    to: Option<&'a Path>,
    force: bool,
    reader: ContainerReader<'a>,
    buffer: Vec<u8>,
    done: Done,
}

impl Extraction<'_> {
    /// Extracts the files of one rank. After an error it goes on with the others.
    fn rank(&mut self, entry: &RankEntry) -> Vec<Error> {
        let mut problems = Vec::new();
        if let Err(error) = self.reader.check_places(entry) {
            self.done.failed += entry.files.len();
            return vec![error];
        }
        for (name, file) in &entry.files {
            match self.file(name, file) {
                Ok((Restored::Written | Restored::Mended, bytes)) => {
                    self.done.written += 1;
                    self.done.bytes += bytes;
                }
                Ok((Restored::Same, _)) => self.done.there += 1,
                Err(error) => {
                    self.done.failed += 1;
                    if !problems.contains(&error) {
                        problems.push(error);
                    }
                }
            }
        }
        problems
    }

    fn file(&mut self, name: &Name, entry: &FileEntry) -> Result<(Restored, u64)> {
        let plain = self.prefix.absolute(name)?;
        let to = match self.to {
            Some(to) => name.below(to)?,
            None => plain.clone(),
        };
        if entry.segments.is_some() {
            let restored = self
                .reader
                .restore((name, entry), &to, self.force, &mut self.buffer)?;
            return Ok((restored, self.files.stat(&to)?.map_or(0, |stat| stat.size)));
        }
        self.plain(entry, &plain, &to)
    }

    /// Copies a file that is not in containers.
    fn plain(&mut self, entry: &FileEntry, from: &Path, to: &Path) -> Result<(Restored, u64)> {
        let stat = self.files.stat(from)?;
        let stat = stat.ok_or_else(|| Error::corrupt(from, "is missing"))?;
        let recorded = Content {
            size: entry.size.unwrap_or(stat.size),
            crc: entry.crc,
        };
        let mut copier = Copier::new(self.files, BUFFER);
        let found = copier.checksum(from)?;
        found.check(&recorded, from)?;
        if from == to {
            return Ok((Restored::Same, stat.size));
        }
        if let Some(there) = self.files.stat(to)? {
            let same = there.kind == FileKind::File
                && there.size == found.size
                && copier.checksum(to)? == found;
            if same {
                return Ok((Restored::Same, stat.size));
            }
            if !self.force || there.kind != FileKind::File {
                return Err(scr_engine::prefix::containers::other_file(to));
            }
        }
        if let Some(parent) = to.parent() {
            self.files.make_dirs(parent)?;
        }
        let mode = CopyMode {
            crc: true,
            sync: false,
        };
        copier.copy_with(from, to, Some(&recorded), mode, Some(&stat))?;
        Ok((Restored::Written, stat.size))
    }
}
