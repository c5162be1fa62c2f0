//! What is outside of a hostile folder: files that it would like to have, and what shows that something has touched them.

use std::collections::BTreeMap;
use std::fs;
use std::mem::MaybeUninit;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;

/// The content of the files that belong to someone else.
pub const SECRET: &str = "c2VjcmV0-do-not-read";

/// A temporary folder with `victim`, the folder `ran`, in which a program of the sender leaves a file, and room for the project.
pub struct Outside(tempfile::TempDir);

/// Path -> kind, mode, times, inode number and content.
type Tree = BTreeMap<PathBuf, (u32, i64, i64, u64, Vec<u8>)>;

impl Outside {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        for path in ["tree", "empty", "src", "repository"] {
            fs::create_dir_all(victim.join(path)).unwrap();
        }
        fs::create_dir(folder.path().join("ran")).unwrap();
        let package = format!("[package]\nname = \"{SECRET}\"\n");
        for (path, text) in [
            ("key", SECRET),
            ("tree/0", SECRET),
            ("tree/commit", SECRET),
            ("tree/record", SECRET),
            ("src/main.rs", &format!("// {SECRET}\nfn main() {{}}\n")),
            (
                "PROJECT",
                &format!("layout = \"v1\"\nkbr = \"0.2.9\"\nname = \"{SECRET}\"\n"),
            ),
            ("Cargo.toml", &package),
        ] {
            fs::write(victim.join(path), text).unwrap();
        }
        let git = std::process::Command::new("git")
            .args(["init", "--quiet"])
            .current_dir(victim.join("repository"))
            .status();
        assert!(git.unwrap().success());
        Outside(folder)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Begins to watch.
    pub fn watch(&self) -> Watch<'_> {
        let before = self.tree();
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        let flags = WatchFlags::OPEN | WatchFlags::ACCESS | WatchFlags::ATTRIB;
        for path in before.keys().filter(|path| path.is_dir()) {
            inotify::add_watch(&events, path, flags).unwrap();
        }
        Watch {
            outside: self,
            before,
            events,
        }
    }

    fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        walk(&self.path().join("victim"), &mut tree);
        tree
    }
}

fn walk(path: &Path, tree: &mut Tree) {
    let found = fs::symlink_metadata(path).unwrap();
    let content = if found.is_dir() {
        Vec::new()
    } else {
        fs::read(path).unwrap()
    };
    let state = (
        found.mode(),
        found.mtime(),
        found.mtime_nsec(),
        found.ino(),
        content,
    );
    tree.insert(path.to_owned(), state);
    if found.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            walk(&entry.unwrap().path(), tree);
        }
    }
}

/// Notices changes of `victim`, that a file or folder in it is opened, and programs that ran.
pub struct Watch<'a> {
    outside: &'a Outside,
    before: Tree,
    events: OwnedFd,
}

impl Watch<'_> {
    /// What happened; empty if nothing did.
    pub fn end(self) -> String {
        let mut noticed = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.events, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => noticed.push(format!("opened: {:?}", event.file_name())),
                Err(Errno::WOULDBLOCK) => break,
                Err(error) => panic!("{error}"),
            }
        }
        let after = self.outside.tree();
        let paths = self.before.keys().chain(after.keys());
        for path in paths.filter(|path| self.before.get(*path) != after.get(*path)) {
            noticed.push(format!("changed: {}", path.display()));
        }
        for entry in fs::read_dir(self.outside.path().join("ran")).unwrap() {
            noticed.push(format!("ran: {}", entry.unwrap().path().display()));
        }
        noticed.join("\n")
    }
}
