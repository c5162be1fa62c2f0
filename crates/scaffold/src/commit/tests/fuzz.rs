//! Records in `.kbr` of any content.

use std::fs;
use std::path::Path;

use crate::commit::paths::{COMMIT, UPGRADE};
use crate::commit::record::Record;
use crate::commit::{folder, suspended};
use crate::fuzz::{self, Corpus};

const COMMITS: &[&[u8]] = &[
    b"format = 3\nfolders = ['src', 'src/controllers']\nemptied = ['a']\n\n[[file]]\npath = 'src/main.rs'\nmode = 420\nbefore = 'ab'\nafter = 'cd'\n\n\
      [[file]]\npath = 'PROJECT'\nmode = 420\nafter = 'cd'\n",
];

const UPGRADES: &[&[u8]] = &[
    b"format = 1\nfrom = '0.1.0'\nto = '0.2.0'\nunresolved = ['src/main.rs']\nindex = '''\n100644 ab 0\tsrc/main.rs\n'''\n\n[[file]]\npath = 'src/main.rs'\n\
      existed = true\nafter = 'ab'\n",
];

const WORDS: &[&str] = &[
    "[[file]]\n",
    "path = '../../a'\n",
    "path = '/etc/passwd'\n",
    "'",
    "\n",
    "format = 3\n",
    "mode = -1\n",
    "emptied = ['..']\n",
    "a/",
    "/",
    "..",
    "[",
    "\"\"\"",
    "existed = false\n",
    "\u{1b}",
];

/// Runs `read`, which returns whether there is a record, on a project whose file at `path` has any content.
fn check(path: &str, inputs: &[&[u8]], read: impl Fn(&Path) -> bool + Sync) {
    let corpus = Corpus {
        inputs,
        words: WORDS,
    };
    let project = tempfile::tempdir().unwrap();
    let file = project.path().join(path);
    folder::create(project.path()).unwrap();
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    for input in inputs {
        fs::write(&file, input).unwrap();
        assert!(read(project.path()));
    }
    fuzz::run(corpus, |bytes| {
        fs::write(&file, bytes).unwrap();
        read(project.path());
    });
}

#[test]
fn a_record_of_a_commit_of_any_content_is_refused_or_read() {
    check(COMMIT, COMMITS, |root| match Record::load(root, COMMIT) {
        Ok(record) => !record.unwrap().shown().any(|path| path.is_empty()),
        Err(error) => format!("{error:#}").is_empty(),
    });
}

#[test]
fn a_record_of_an_upgrade_of_any_content_is_refused_or_read() {
    let path = format!("{UPGRADE}/record");
    check(&path, UPGRADES, |root| match suspended::find(root) {
        Ok(upgrade) => {
            // Its copies are missing.
            drop(suspended::abort(&upgrade.unwrap(), root));
            suspended::check(root).is_err()
        }
        Err(error) => format!("{error:#}").is_empty(),
    });
}
