//! What was found before, in files that are named by a digest.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// A name for `text`.
pub fn digest(text: &str) -> String {
    let mut name = String::new();
    for byte in &Sha256::digest(text.as_bytes())[..16] {
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// Writes a file and the folders above it.
///
/// # Panics
/// The file system refuses.
pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a writable folder");
    fs::write(path, text).expect("a writable file");
}
