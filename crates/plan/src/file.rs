//! The file of a clone: gzip of a line `kbr clone 1`, which names the format and its version, and of JSON.
//!
//! It may come from a stranger. It is read as a stream, so only the clone itself is in memory, and everything that becomes a key of etcd or
//! a part of a URL is checked.

mod check;
mod limits;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Context as _, bail};
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use kbr_host::diagnostic::{Diagnostic, Problem};
use kbr_host::regular;
use serde::Deserialize as _;
use tempfile::NamedTempFile;

use crate::cloned::Cloned;
use limits::{Limited, Limits};

/// The first line, without the version.
const FORMAT: &str = "kbr clone ";
/// The version that is written, and the only one that is read.
const VERSION: &str = "1";

/// The content of the file of a clone. The same clone gives the same bytes.
///
/// # Errors
/// [`read`] would not accept it.
pub fn write(cloned: &Cloned) -> anyhow::Result<Vec<u8>> {
    let mut packed = Vec::new();
    write_to(cloned, &mut packed)?;
    Ok(packed)
}

/// Writes the file of a clone: with mode 0600, as a whole or not at all.
///
/// # Errors
/// At `path`, there is something else than a file, such as a link; it cannot be written; [`read`] would not accept it.
pub fn save(path: &Path, cloned: &Cloned) -> anyhow::Result<()> {
    let cannot_write = || format!("cannot write `{}`", path.display());
    if fs::symlink_metadata(path).is_ok_and(|it| !it.is_file()) {
        let text = format!("`{}` is not a regular file", path.display());
        let other = Diagnostic::new(text).help("write the clone to another path");
        return Err(other.into());
    }
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // Its mode is 0600.
    let mut file = NamedTempFile::new_in(folder).with_context(cannot_write)?;
    let mut to = BufWriter::new(file.as_file_mut());
    write_to(cloned, &mut to).with_context(cannot_write)?;
    to.flush().with_context(cannot_write)?;
    drop(to);
    file.as_file().sync_all().with_context(cannot_write)?;
    file.persist(path).with_context(cannot_write)?;
    Ok(())
}

fn write_to(cloned: &Cloned, to: impl Write) -> anyhow::Result<()> {
    check::check(cloned)?;
    let to = Limited::bytes(to, Limits::FILE.packed);
    let encoder = GzEncoder::new(to, Compression::default());
    let mut json = Limited::json(encoder, Limits::FILE);
    writeln!(json, "{FORMAT}{VERSION}")?;
    serde_json::to_writer(BufWriter::new(&mut json), cloned)?;
    json.into_inner().finish()?.flush()?;
    Ok(())
}

/// The clone in the file at `path`.
///
/// # Errors
/// As [`read`], or it is not a regular file or cannot be read.
pub fn load(path: &Path) -> anyhow::Result<Cloned> {
    let cannot_read = || format!("cannot read `{}`", path.display());
    let file = regular::open(path).with_context(cannot_read)?;
    read(file).with_context(cannot_read)
}

/// The clone in the content of a file.
///
/// # Errors
/// It is not the file of a clone, of another version, damaged, larger than 128 MiB, or unpacked larger than 512 MiB; a kind or an object is
/// not one that a cluster can have, or is there twice.
pub fn read(content: impl Read) -> anyhow::Result<Cloned> {
    read_within(content, Limits::FILE)
}

fn read_within(content: impl Read, limits: Limits) -> anyhow::Result<Cloned> {
    let packed = BufReader::new(Limited::bytes(content, limits.packed));
    let mut json = BufReader::new(Limited::json(GzDecoder::new(packed), limits));
    check_format(&mut json)?;
    let cloned = deserialize(&mut json)?;
    let mut rest = json.into_inner().into_inner().into_inner();
    if !rest.fill_buf()?.is_empty() {
        bail!(damaged("something follows the clone"));
    }
    check::check(&cloned)?;
    Ok(cloned)
}

fn check_format(from: &mut impl io::BufRead) -> anyhow::Result<()> {
    let mut line = Vec::new();
    match from.take(64).read_until(b'\n', &mut line) {
        // It is not gzip, or ends at once.
        Err(error) if is_of_content(&error) => line.clear(),
        read => drop(read?),
    }
    let line = String::from_utf8_lossy(&line);
    match line.strip_prefix(FORMAT).map(str::trim_end) {
        Some(VERSION) => Ok(()),
        Some(other) => Err(Diagnostic::new(format_args!(
            "it is a clone of version {}, and this kbr reads version {VERSION}",
            check::shown(other)
        ))
        .help("read it with the kbr that wrote it, or clone the cluster again")
        .into()),
        None => Err(Diagnostic::new("it is not the file of a clone")
            .help("create one with `kbr clone`")
            .into()),
    }
}

fn is_of_content(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}

fn deserialize(from: impl Read) -> anyhow::Result<Cloned> {
    // Instead of the first line, so that errors count lines as the unpacked file has them.
    let from = (&b"\n"[..]).chain(from);
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(from));
    let cloned = Cloned::deserialize(&mut json);
    let cloned = cloned.and_then(|it| json.end().map(|()| it));
    cloned.map_err(|error| damaged(&error.to_string()).into())
}

/// What is wrong may quote the file.
fn damaged(what: &str) -> Diagnostic {
    let length = what.chars().count();
    let what = match length.checked_sub(200) {
        // The place is at the end.
        Some(more @ 1..) => {
            let start: String = what.chars().take(100).collect();
            let end: String = what.chars().skip(100 + more).collect();
            format!("{start}…{end}")
        }
        _ => what.to_owned(),
    };
    let problem = Problem::new(format_args!("the clone is damaged: {what}"));
    Diagnostic::from(problem.help("clone the cluster again with `kbr clone`"))
}
