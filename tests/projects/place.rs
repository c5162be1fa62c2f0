//! Where the projects of tests are created and compiled. There are two places, so that two tests run at a time.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    sync::{Condvar, LazyLock, Mutex, PoisonError},
};

use super::{project::Project, support::KBR};

/// Its projects share a path, a target folder and the binary name `crdgen` in it, so a test has it to itself until this is dropped.
pub struct Place {
    folder: PathBuf,
}

static FREE: LazyLock<Mutex<BTreeSet<PathBuf>>> = LazyLock::new(|| Mutex::new(prepared()));
static FREED: Condvar = Condvar::new();

/// Waits for a place.
pub fn place() -> Place {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        match free.pop_first() {
            Some(folder) => return Place { folder },
            None => free = FREED.wait(free).unwrap_or_else(PoisonError::into_inner),
        }
    }
}

impl Place {
    /// The target folder.
    pub fn build(&self) -> PathBuf {
        self.folder.join("build")
    }

    /// A project. All projects have the same path, so that cargo identifies their libraries with each other and builds the library once.
    pub fn project(&self, name: &'static str) -> Project {
        Project::new(&self.folder.join("project"), &self.build(), name)
    }

    /// A project at a path of its own, like a user's: kbr names it after its folder, and its library is built separately.
    pub fn separate(&self, name: &'static str) -> Project {
        Project::new(&self.folder.join(name), &self.build(), name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        free.insert(std::mem::take(&mut self.folder));
        FREED.notify_one();
    }
}

/// Both folders. What all projects need is compiled in the first one, and linked into the second. What kbr itself needs with the same
/// features, as most crates, is linked into the first one before.
fn prepared() -> BTreeSet<PathBuf> {
    let first = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let second = first.join("second");
    if !second.exists() {
        let place = Place {
            folder: first.clone(),
        };
        let debug = place.build().join("debug");
        if !debug.exists() {
            link_crates(Path::new(KBR).parent().expect("a folder"), &debug)
                .expect("a copy of crates");
        }
        compile_dependencies(&place);
        let kept = |name: &str| name != "incremental";
        link(&place.build(), &second.join("build"), kept).expect("a copy of the target folder");
        // It would wait for itself.
        std::mem::forget(place);
    }
    [first, second].into()
}

fn compile_dependencies(place: &Place) {
    let project = place.project("first");
    project.kbr("init --domain example.com");
    let kind = "--group crew --version v1 --kind Captain";
    project.create_api(&format!("{kind} --resource --controller"));
    project.kbr(&format!("create webhook {kind} --defaulting --validation"));
    project.lint();
    project.run("cargo", &["build", "--workspace"]);
    project.run(
        "cargo",
        &["test", "--workspace", "--all-features", "--no-run"],
    );
}

/// Copies the crates that cargo compiled in `from`, without programs. It compiles those of them again whose source or features differ.
fn link_crates(from: &Path, to: &Path) -> io::Result<()> {
    for part in [".fingerprint", "build"] {
        link(&from.join(part), &to.join(part), |_| true)?;
    }
    let library = |name: &str| name.starts_with("lib");
    link(&from.join("deps"), &to.join("deps"), library)
}

/// Files up to this size, in bytes, are copied, because cargo overwrites some of them.
const SMALL: u64 = 1 << 16;

/// Copies what has a name that is `wanted` in a target folder, with the modification times that cargo compares.
fn link(from: &Path, to: &Path, wanted: fn(&str) -> bool) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(wanted) {
            continue;
        }
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            link(&from, &to, wanted)?;
        } else if metadata.len() > SMALL {
            fs::hard_link(&from, &to)?;
        } else {
            fs::copy(&from, &to)?;
            let copy = fs::File::options().append(true).open(&to)?;
            copy.set_modified(metadata.modified()?)?;
        }
    }
    Ok(())
}
