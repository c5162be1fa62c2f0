//! The CRDs of an archive.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::{env, io};

use flate2::read::GzDecoder;
use kbr_scaffold::imported::{self, Definition};
use serde_json::Value;

/// A CRD of the archive.
#[derive(Debug)]
pub struct Entry {
    /// Its path without `.yaml`.
    pub name: String,
    pub text: String,
    pub crd: Value,
    pub definition: Definition,
}

impl Entry {
    /// The name of a module for a version.
    pub fn module(&self, version: &str) -> String {
        let name = format!("crd_{}_{version}", self.name);
        let is_word = |letter: char| letter.is_ascii_alphanumeric();
        name.chars()
            .map(|letter| {
                if is_word(letter) {
                    letter.to_ascii_lowercase()
                } else {
                    '_'
                }
            })
            .collect()
    }

    /// How large its schemas are.
    pub fn nodes(&self) -> usize {
        let schemas = self
            .definition
            .versions
            .iter()
            .map(|version| nodes(&Value::Object(version.schema.clone())));
        schemas.sum()
    }
}

fn nodes(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(nodes).sum(),
        Value::Object(fields) => {
            usize::from(
                [
                    "type",
                    "x-kubernetes-int-or-string",
                    "x-kubernetes-preserve-unknown-fields",
                ]
                .iter()
                .any(|key| fields.contains_key(*key)),
            ) + fields.values().map(nodes).sum::<usize>()
        }
        _ => 0,
    }
}

/// All CRDs, by name.
///
/// # Panics
/// The archive is missing, or something in it is not a CRD.
pub fn read() -> Vec<Entry> {
    let path = env::var_os("KBR_CRDS").map_or_else(
        || super::repository().join("../shared/crds.tar.gz"),
        PathBuf::from,
    );
    let mut files = files(&path).unwrap_or_else(|error| {
        panic!("{}: {error}\nhelp: pass an archive of CRDs as YAML in KBR_CRDS, for example of github.com/metio/kube-custom-resources-rs", path.display())
    });
    if let Ok(only) = env::var("KBR_CRDS_ONLY") {
        files.retain(|(name, _)| name.contains(&only));
    }
    let (left, right) = files.split_at(files.len() / 2);
    let mut entries = thread::scope(|scope| {
        let right = scope.spawn(|| parsed(right));
        let mut left = parsed(left);
        left.extend(right.join().expect("no CRD panics"));
        left
    });
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    entries
}

fn files(path: &Path) -> io::Result<Vec<(String, String)>> {
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(path)?));
    let mut files = Vec::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".yaml") {
            let mut text = String::new();
            entry.read_to_string(&mut text)?;
            files.push((name.trim_start_matches("./").to_owned(), text));
        }
    }
    Ok(files)
}

fn parsed(files: &[(String, String)]) -> Vec<Entry> {
    files.iter().map(|(name, text)| entry(name, text)).collect()
}

/// The CRD in `text`. Its JSON is kept, because YAML takes long to read.
fn entry(name: &str, text: &str) -> Entry {
    let known = super::folder()
        .join("json")
        .join(super::results::digest(text));
    let crd: Value = if let Some(crd) = fs::read(&known)
        .ok()
        .and_then(|json| serde_json::from_slice(&json).ok())
    {
        crd
    } else {
        let crd: Value =
            serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        super::results::write(&known, &crd.to_string());
        crd
    };
    let definition =
        imported::read(&crd.to_string(), None).unwrap_or_else(|error| panic!("{name}: {error:#}"));
    Entry {
        name: name.to_owned(),
        text: text.to_owned(),
        crd,
        definition,
    }
}
