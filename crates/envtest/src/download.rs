//! Downloads an index, or an archive that can be resumed and whose checksum is compared.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use sha2::{Digest, Sha512};

use super::http::{self, Answer, Unavailable};
use super::index::PublishedArchive;
use super::progress;
use super::receive::{self, Stopped};
use kbr_host::diagnostic::Diagnostic;
use kbr_host::notation::hex;
use kbr_host::regular;

/// The largest index, in bytes; the real one has 70 kB.
const INDEX_LIMIT: u64 = 8 << 20;
/// The largest archive, in bytes; real ones have 80 MB.
const ARCHIVE_LIMIT: u64 = 512 << 20;
/// How often in a row an attempt may get less than [`ADVANCE`] bytes.
const ATTEMPTS: u32 = 3;
const ADVANCE: u64 = 64 << 10;
const PAUSE: Duration = Duration::from_millis(500);

/// The text at `url`.
///
/// # Errors
/// [`Unavailable`], or the text is too long or not UTF-8.
pub fn text(url: &str) -> anyhow::Result<String> {
    let Answer::Part { start: 0, body, .. } = http::get(url, 0)? else {
        return Err(unexpected(url).into());
    };
    let mut bytes = Vec::new();
    receive::copy(body, &mut bytes, INDEX_LIMIT, |_| ()).map_err(|why| stopped(url, why))?;
    String::from_utf8(bytes).map_err(|_| wrong(url, "it is not text").into())
}

/// Downloads `archive` to `file`, whose content is continued if it is the beginning of the same archive.
///
/// # Errors
/// [`Unavailable`]: `file` then has what was received. Or the archive is not what the index says; `file` is then removed.
pub fn archive(archive: &PublishedArchive, file: &Path) -> anyhow::Result<()> {
    let resumed = size(file) > 0;
    fetch(&archive.url, file)?;
    let mut found = sha512(file)?;
    if found != archive.sha512 && resumed {
        // The beginning may have been another file's.
        remove(file)?;
        fetch(&archive.url, file)?;
        found = sha512(file)?;
    }
    if found != archive.sha512 {
        remove(file)?;
        let text = format!(
            "its SHA-512 is `{found}`, but the index says `{}`",
            archive.sha512
        );
        return Err(wrong(&archive.url, &text).into());
    }
    Ok(())
}

/// Downloads `archive` to `file` without comparing its checksum.
///
/// # Errors
/// [`Unavailable`], or the archive is too large.
pub fn unverified(archive: &PublishedArchive, file: &Path) -> anyhow::Result<()> {
    // Without a checksum, only the same answer can be continued.
    remove(file)?;
    fetch(&archive.url, file)
}

fn wrong(url: &str, reason: &str) -> Diagnostic {
    Diagnostic::new(format_args!("`{url}` is wrong: {reason}"))
        .help("try again, or pass the URL of another index with --index")
}

fn unexpected(url: &str) -> Diagnostic {
    wrong(url, "the server returned another part of the file")
}

/// Downloads what `file` lacks, in several attempts if the connection ends early.
fn fetch(url: &str, file: &Path) -> anyhow::Result<()> {
    let mut failed = 0;
    let mut received = false;
    loop {
        let before = size(file);
        let result = attempt(url, file, before);
        let Err(error) = result else {
            return Ok(());
        };
        received |= size(file) != before;
        failed = if size(file) >= before + ADVANCE {
            1
        } else {
            failed + 1
        };
        let is_wrong = !error.is::<Unavailable>();
        if is_wrong || size(file) == 0 {
            remove(file)?;
        }
        if is_wrong || !received || failed > ATTEMPTS {
            return Err(error);
        }
        progress("interrupted", &format!("at {}", megabytes(size(file))));
        thread::sleep(PAUSE);
    }
}

/// Appends to the first `have` bytes of `file`, or begins again if the server does not continue there.
fn attempt(url: &str, file: &Path, have: u64) -> anyhow::Result<()> {
    let (start, length, body) = match http::get(url, have)? {
        Answer::NoMore => return Ok(()),
        Answer::Part { start, .. } if start != 0 && start != have => {
            return Err(unexpected(url).into());
        }
        Answer::Part {
            start,
            length,
            body,
        } => (start, length, body),
    };
    let total = length.map(|length| start.saturating_add(length));
    if total.is_some_and(|total| total > ARCHIVE_LIMIT) {
        return Err(wrong(url, "it is too large").into());
    }
    let mut out =
        open(file, start).with_context(|| format!("cannot write `{}`", file.display()))?;
    let of = total
        .map(|total| format!(" of {}", megabytes(total)))
        .unwrap_or_default();
    let report = |count| progress("downloaded", &format!("{}{of}", megabytes(start + count)));
    receive::copy(body, &mut out, ARCHIVE_LIMIT.saturating_sub(start), report).map_err(|why| {
        match why {
            Stopped::Writing(error) => {
                anyhow::Error::from(error).context(format!("cannot write `{}`", file.display()))
            }
            why => stopped(url, why),
        }
    })
}

fn stopped(url: &str, why: Stopped) -> anyhow::Error {
    match why {
        Stopped::TooLarge => wrong(url, "it is too large").into(),
        Stopped::Reading(error) | Stopped::Writing(error) => {
            Unavailable::new(format_args!("cannot download all of `{url}`: {error}")).into()
        }
    }
}

/// Opens `file` to write from byte `start` on.
fn open(file: &Path, start: u64) -> io::Result<File> {
    let mut out = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(file)?;
    out.set_len(start)?;
    out.seek(SeekFrom::Start(start))?;
    Ok(out)
}

/// Zero if the file does not exist.
fn size(file: &Path) -> u64 {
    file.metadata().map_or(0, |found| found.len())
}

fn remove(file: &Path) -> anyhow::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove `{}`", file.display()))
        }
        _ => Ok(()),
    }
}

/// In hexadecimal.
fn sha512(file: &Path) -> anyhow::Result<String> {
    let mut hash = Sha512::new();
    let mut add = || -> io::Result<()> {
        let mut open = regular::open(file)?;
        let mut part = vec![0; 64 << 10];
        loop {
            match open.read(&mut part)? {
                0 => return Ok(()),
                count => hash.update(&part[..count]),
            }
        }
    };
    add().with_context(|| format!("cannot read `{}`", file.display()))?;
    Ok(hex(&hash.finalize()))
}

fn megabytes(bytes: u64) -> String {
    let tenths = bytes / 100_000;
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_megabytes() {
        assert_eq!(megabytes(0), "0.0 MB");
        assert_eq!(megabytes(81_960_000), "81.9 MB");
    }
}
