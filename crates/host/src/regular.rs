//! Reads the files of a project, which may come from a stranger: only regular files, up to a size. A device, a named pipe or a huge
//! sparse file neither blocks a command nor fills the memory.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rustix::fs::{self, Mode, OFlags};

/// The largest file that kbr reads. Files of projects that it plans, writes or scans are thousands of times smaller.
const LIMIT: u64 = 16 << 20;

/// The content of the file at `path`, which is not a link: a caller that follows links resolves them first.
///
/// # Errors
/// It is missing, a link, not a regular file, or larger than 16 MiB; it cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    // The length of some files, such as those of /proc, is 0.
    match file.metadata()?.len() {
        length if length <= LIMIT => bounded(file),
        _ => Err(too_large()),
    }
}

fn bounded(from: impl io::Read) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    match from.take(LIMIT + 1).read_to_end(&mut content)? as u64 {
        read if read <= LIMIT => Ok(content),
        _ => Err(too_large()),
    }
}

fn too_large() -> io::Error {
    io::Error::other(format!("it is larger than {} MiB", LIMIT >> 20))
}

/// Opens the file at `path` for reading.
///
/// # Errors
/// It is missing, a link, or not a regular file; it cannot be opened.
pub fn open(path: &Path) -> io::Result<File> {
    // Without NONBLOCK, opening a named pipe would wait for a writer.
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
}

/// Opens the folder at `path`, to lock it.
///
/// # Errors
/// It is missing, or not a folder; it cannot be opened.
pub fn folder(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(File::from(fs::open(path, flags, Mode::empty())?))
}

/// The content as text.
///
/// # Errors
/// As [`read`], or it is not UTF-8.
pub fn text(path: &Path) -> io::Result<String> {
    utf8(read(path)?)
}

/// The text of the standard input, to its end, up to the same size.
///
/// # Errors
/// It is larger or not UTF-8; it cannot be read.
pub fn stdin() -> io::Result<String> {
    utf8(bounded(io::stdin())?)
}

fn utf8(content: Vec<u8>) -> io::Result<String> {
    String::from_utf8(content).map_err(|_| io::Error::other("it is not UTF-8 text"))
}

/// The text of a file that the user named or that cargo compiles, through links.
///
/// # Errors
/// As [`text`].
pub fn followed(path: &Path) -> io::Result<String> {
    text(&path.canonicalize()?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;

    #[test]
    fn only_regular_files_up_to_the_limit_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let error = |name: &str| read(&path(name)).unwrap_err().to_string();
        std::fs::write(path("a"), "text").unwrap();
        assert_eq!(text(&path("a")).unwrap(), "text");
        symlink("a", path("link")).unwrap();
        assert!(read(&path("link")).is_err());
        assert_eq!(followed(&path("link")).unwrap(), "text");
        mknodat(CWD, path("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert_eq!(error("pipe"), "it is not a regular file");
        assert_eq!(error("."), "it is not a regular file");
        assert!(error("missing").contains("No such file"));
        let sparse = File::create(path("sparse")).unwrap();
        sparse.set_len(LIMIT).unwrap();
        assert_eq!(read(&path("sparse")).unwrap().len() as u64, LIMIT);
        sparse.set_len(LIMIT + 1).unwrap();
        assert_eq!(error("sparse"), "it is larger than 16 MiB");
    }

    #[test]
    fn a_device_without_an_end_is_not_read() {
        let error = read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.to_string(), "it is not a regular file");
    }
}
