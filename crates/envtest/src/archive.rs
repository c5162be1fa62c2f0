//! Unpacks an archive of control plane programs: gzip and tar, whose contents are not trusted.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, anyhow, bail, ensure};
use flate2::read::MultiGzDecoder;
use tar::{Archive, Entry, EntryType};

/// The largest size of an unpacked archive, in bytes; real ones have about 200 MB.
const UNPACKED_LIMIT: u64 = 1 << 30;
/// The most files and folders in an archive; real ones have four.
const ENTRIES_LIMIT: usize = 1000;
/// The largest extension of a file's header, in bytes.
const EXTENSION_LIMIT: u64 = 64 << 10;
/// Extensions that change which file the next header describes, or how it is stored.
const OVERRIDES: [&[u8]; 4] = [b" path=", b" linkpath=", b" size=", b" GNU.sparse."];

/// Unpacks `programs`, and nothing else, from `archive` into the empty folder `into`.
///
/// # Errors
/// The archive is damaged, lacks a program, has one twice, is too large, or contains a link, a special file or a path that leads
/// elsewhere. The folder then has any part of the programs.
pub fn unpack(archive: impl Read, programs: &[String], into: &Path) -> anyhow::Result<()> {
    unpack_limited(archive, programs, into, UNPACKED_LIMIT)
}

fn unpack_limited(
    archive: impl Read,
    programs: &[String],
    into: &Path,
    limit: u64,
) -> anyhow::Result<()> {
    let mut unpacked = Limited {
        inner: MultiGzDecoder::new(archive),
        left: limit,
    };
    let mut tar = Archive::new(&mut unpacked);
    let mut found = BTreeSet::new();
    // Raw: otherwise, the tar crate would read long names and extensions of any size into memory.
    let entries = tar.entries().map_err(explain)?.raw(true);
    for (count, entry) in entries.enumerate() {
        ensure!(
            count < ENTRIES_LIMIT,
            "it contains more than {ENTRIES_LIMIT} files"
        );
        let mut entry = entry.map_err(explain)?;
        let kind = entry.header().entry_type();
        if kind.is_pax_local_extensions() || kind.is_pax_global_extensions() {
            check_extensions(&mut entry)?;
            continue;
        }
        let Some(name) = program(&entry, programs)? else {
            continue;
        };
        ensure!(found.insert(name.clone()), "it contains `{name}` twice");
        write(&mut entry, &into.join(&name))?;
    }
    // To the end, so that the checksum of gzip is compared.
    io::copy(&mut unpacked, &mut io::sink()).map_err(explain)?;
    let missing = programs.iter().filter(|name| !found.contains(*name));
    let missing: Vec<String> = missing.map(|name| format!("`{name}`")).collect();
    ensure!(missing.is_empty(), "it has no {}", missing.join(", no "));
    Ok(())
}

/// Fails if the extensions of the next file are more than times and attributes, which do not matter here.
fn check_extensions(entry: &mut Entry<impl Read>) -> anyhow::Result<()> {
    ensure!(
        entry.size() <= EXTENSION_LIMIT,
        "its extended header is too large"
    );
    let mut text = Vec::new();
    entry.read_to_end(&mut text).map_err(explain)?;
    let overrides = OVERRIDES
        .iter()
        .find(|name| text.windows(name.len()).any(|window| window == **name));
    ensure!(
        overrides.is_none(),
        "it uses tar extensions; pack it with --format=ustar"
    );
    Ok(())
}

/// The program in `entry`; none in a folder or another regular file, which is skipped.
fn program(entry: &Entry<impl Read>, programs: &[String]) -> anyhow::Result<Option<String>> {
    let path = entry.path_bytes();
    let path = String::from_utf8_lossy(&path).into_owned();
    match entry.header().entry_type() {
        EntryType::GNULongName | EntryType::GNULongLink => {
            bail!("it contains paths longer than 100 bytes")
        }
        EntryType::Regular | EntryType::Directory => {}
        EntryType::Link | EntryType::Symlink => bail!("`{path}` is a link"),
        _ => bail!("`{path}` is a special file"),
    }
    let stays = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    let path = PathBuf::from(path);
    if path.as_os_str().is_empty() || !path.components().all(stays) {
        bail!("the path `{}` leaves the archive's folder", path.display());
    }
    let name = path.file_name().unwrap_or_default();
    let program = programs.iter().find(|program| name == program.as_str());
    let is_file = entry.header().entry_type() == EntryType::Regular;
    Ok(program.filter(|_| is_file).cloned())
}

/// Writes a program that everyone may read and run, and no one change.
fn write(entry: &mut Entry<impl Read>, path: &Path) -> anyhow::Result<()> {
    let size = entry.size();
    let create = || -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o555)
            .open(path)
    };
    let mut file = create().with_context(|| format!("cannot write `{}`", path.display()))?;
    let copied = io::copy(entry, &mut file).map_err(explain)?;
    ensure!(copied == size, "it is truncated");
    Ok(())
}

fn explain(error: io::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::FileTooLarge => anyhow!("it is too large when unpacked"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => error.into(),
        _ => anyhow::Error::from(error).context("it is damaged"),
    }
}

/// A reader that fails after `left` bytes, instead of ending there.
struct Limited<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self
            .left
            .checked_sub(count as u64)
            .ok_or(ErrorKind::FileTooLarge)?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
