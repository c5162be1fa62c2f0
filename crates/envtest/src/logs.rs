//! The logs of the servers: their folder, and the end of one for an error message.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kbr_host::regular;

/// The number of bytes to read from the end of a log.
const END: u64 = 64 * 1024;

/// Makes the folder for the logs, and returns its absolute path.
pub fn folder(path: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(path)
        .and_then(|()| std::path::absolute(path))
        .with_context(|| format!("cannot create the folder `{}`", path.display()))
}

/// The last `count` lines of `log`; empty if it cannot be read.
pub fn tail(log: &Path, count: usize) -> String {
    let text = end(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// The last 64 KiB of `log`.
pub fn end(log: &Path) -> io::Result<String> {
    let mut file = regular::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END)))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    Ok(String::from_utf8_lossy(&end).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(log: &str, count: usize, expected: &str) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), log).unwrap();
        assert_eq!(tail(file.path(), count), expected);
    }

    #[test]
    fn the_tail_is_the_last_lines() {
        check("one\ntwo\nthree\n", 2, "two\nthree");
        check("one\n", 2, "one");
        check("", 2, "");
    }

    #[test]
    fn only_the_end_of_a_long_log_is_read() {
        let long = "x".repeat(100_000) + "\nlast";
        check(&long, 1, "last");
        assert_eq!(tail(Path::new("/no/such/log"), 1), "");
    }
}
