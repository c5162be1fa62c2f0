//! A project as it was sent, and the commands that its receiver runs in it.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

use kbr_scaffold::predecessor::VERSION;

use crate::outside::{Outside, SECRET};

const KBR: &str = env!("CARGO_BIN_EXE_kbr");

/// Ten seconds, while other tests use all cores.
const LIMIT: Duration = Duration::from_secs(60);

/// What no file, name or value may print at the beginning of a line.
pub const PLANTED: &str = "help: run planted";

/// The memory that a command may use, in KiB: more than any needs, less than a machine has.
const MEMORY: u32 = 2_000_000;

/// The last one completes a group at TAB.
pub const COMMANDS: [&str; 10] = [
    "kbr init --yes",
    "kbr init --yes --force",
    "kbr create api --group crew --version v1 --kind Mate --yes",
    "kbr create webhook --group crew --version v1 --kind Captain --defaulting",
    "kbr delete api --group crew --version v1 --kind Captain --force",
    "kbr upgrade --no-check",
    "kbr upgrade --check",
    "kbr upgrade --no-check --continue",
    "kbr upgrade --abort",
    "KBR_COMPLETE=bash _CLAP_COMPLETE_INDEX=4 kbr -- kbr create api --group ''",
];

/// Those that read what a stranger has sent, and write nothing into it.
pub const READING: [&str; 2] = [
    "kbr create api --from-crd crd.yaml --yes --dry-run",
    "kbr import . --directory ../new --dry-run",
];

/// A folder, in `sent` of a temporary one.
pub struct Sent {
    pub outside: Outside,
    pub root: PathBuf,
}

/// What the folder was before the attack.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Empty,
    /// A project of an earlier release, so that an upgrade has something to do.
    Old,
    /// A project of this release.
    Current,
}

pub struct Ran {
    pub success: bool,
    /// Both streams.
    pub printed: String,
}

impl Sent {
    pub fn new(kind: Kind) -> Self {
        let outside = Outside::new();
        let root = outside.path().join("sent");
        match kind {
            Kind::Empty => fs::create_dir(&root).unwrap(),
            Kind::Old => copy(old(), &root),
            Kind::Current => copy(current(), &root),
        }
        Sent { outside, root }
    }

    /// The folder that the sender would like to reach.
    pub fn victim(&self) -> PathBuf {
        self.outside.path().join("victim")
    }

    /// Removes what is at `path`, and creates the folders above it; false if something else is in their place.
    pub fn clear(&self, path: &str) -> bool {
        let found = |path: &str| fs::symlink_metadata(self.root.join(path));
        let mut above = path.match_indices('/').map(|(end, _)| &path[..end]);
        if !above.all(|folder| found(folder).map_or(true, |it| it.is_dir())) {
            return false;
        }
        let path = self.root.join(path);
        let _ = fs::remove_file(&path);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        true
    }

    /// Writes a file, unless there is a link above it.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        if self.clear(path) {
            fs::write(self.root.join(path), text).unwrap();
        }
    }

    pub fn link(&self, path: &str, target: &str) {
        assert!(self.clear(path), "{path}");
        symlink(target, self.root.join(path)).unwrap();
    }

    /// Marks `.kbr` as kbr does, which a sender cannot.
    pub fn mark(&self) {
        let folder = self.root.join(".kbr");
        fs::create_dir_all(&folder).unwrap();
        let found = fs::metadata(&folder).unwrap();
        let created = found.created().ok();
        let created = created.map(|time| time.duration_since(UNIX_EPOCH).unwrap().as_nanos());
        let mark = format!("made-{:x}-{:x}", found.ino(), created.unwrap_or(0));
        fs::create_dir_all(folder.join(mark)).unwrap();
    }

    /// Runs a command, and checks that nothing outside of the folder has noticed it.
    pub fn run(&self, command: &str, context: &str) -> Ran {
        let watch = self.outside.watch();
        let (status, printed) = shell(&self.root, self.outside.path(), command)
            .unwrap_or_else(|| panic!("no end: {context}"));
        let noticed = watch.end();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        assert_eq!(noticed, "", "{context}: {printed}");
        assert!(
            status.code().is_some_and(|code| code < 3),
            "{status}, {context}: {printed}"
        );
        assert!(!printed.contains(SECRET), "{context}: {printed}");
        let control = |c: char| c.is_control() && !"\n\t\u{b}".contains(c);
        assert!(!printed.contains(control), "{context}: {printed:?}");
        let reorders = |c: char| ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!printed.contains(reorders), "{context}: {printed:?}");
        let begins = |line: &str| line.trim_start().starts_with(PLANTED);
        assert!(!printed.lines().any(begins), "{context}: {printed}");
        Ran {
            success: status.success(),
            printed,
        }
    }
}

/// Runs a command with what a user's shell has; `None` if it has no end.
fn shell(folder: &Path, home: &Path, command: &str) -> Option<(ExitStatus, Vec<u8>)> {
    let bin = Path::new(KBR).parent().unwrap();
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MEMORY}; {command} 2>&1")])
        .current_dir(folder)
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .env("HOME", home)
        .env("KBR_GIT_TIMEOUT", "5")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let reader = thread::spawn(move || {
        let mut printed = Vec::new();
        stdout.read_to_end(&mut printed).map(|_| printed)
    });
    let status = wait(&mut child)?;
    Some((status, reader.join().unwrap().unwrap()))
}

fn wait(child: &mut Child) -> Option<ExitStatus> {
    let end = Instant::now() + LIMIT;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

fn old() -> &'static Path {
    static OLD: OnceLock<tempfile::TempDir> = OnceLock::new();
    let made = OLD.get_or_init(|| {
        let recorded = "tests/golden/a_first_kind/out/PROJECT";
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join(recorded);
        let folder = tempfile::tempdir().unwrap();
        fs::copy(recorded, folder.path().join("PROJECT")).unwrap();
        make(folder, &[&format!("kbr faults-render {VERSION} .")])
    });
    made.path()
}

fn current() -> &'static Path {
    static CURRENT: OnceLock<tempfile::TempDir> = OnceLock::new();
    let made = CURRENT.get_or_init(|| {
        let init = "kbr init --project-name captains --yes";
        let create = "kbr create api --group crew --version v1 --kind Captain --yes";
        make(tempfile::tempdir().unwrap(), &[init, create])
    });
    made.path()
}

fn make(folder: tempfile::TempDir, commands: &[&str]) -> tempfile::TempDir {
    for command in commands {
        let (status, printed) = shell(folder.path(), folder.path(), command).unwrap();
        let printed = String::from_utf8_lossy(&printed);
        assert!(status.success(), "{command}: {printed}");
    }
    folder
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
