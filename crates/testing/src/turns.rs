//! The turns of tests that share cluster-scoped kinds.
//!
//! An operator under test watches one namespace, but all objects of a cluster-scoped kind. It would clean up those of other tests
//! by what it sees in its own namespace, and tests would create objects of the same name. So the tests of a project with
//! such a kind run one after another, in all processes that use the API server.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    thread::{self, ThreadId},
    time::Duration,
};

use anyhow::Context as _;
use hyper::{Request, header};
use kube::Client;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::relay::Relay;

/// The definitions that `kbr manifests` writes.
const CRDS: &str = "config/crd/bases";

/// How often a test looks whether it is its turn.
const PERIOD: Duration = Duration::from_millis(50);

/// How often a test that waits reports it.
const NOTICE: Duration = Duration::from_secs(60);

/// The turns in this process, and the threads of their tests.
static TURNS: Mutex<Vec<(ThreadId, Weak<Turn>)>> = Mutex::new(Vec::new());

/// The turn of a test, until this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    /// The names of the cluster-scoped CRDs.
    pub(super) crds: Vec<String>,
    /// The kernel releases them even if the test is killed.
    _locks: Vec<File>,
}

/// Waits for the turn of this test, and removes what the last one has left; `None` if the project has no cluster-scoped kind.
pub(super) async fn take(client: &Client) -> anyhow::Result<Option<Arc<Turn>>> {
    let crds = cluster_scoped(Path::new(CRDS))?;
    if crds.is_empty() {
        return Ok(None);
    }
    let (turn, new) = take_in(Relay::find()?.folder(), crds).await?;
    if new {
        for crd in &turn.crds {
            let removed = remove_objects(client, crd).await;
            removed.with_context(|| format!("cannot remove the objects of `{crd}`"))?;
        }
    }
    Ok(Some(turn))
}

/// Takes a turn by locks in `folder`. A test that has a turn keeps it: then the second value is false.
async fn take_in(folder: &Path, crds: Vec<String>) -> anyhow::Result<(Arc<Turn>, bool)> {
    let test = thread::current().id();
    if let Some(turn) = own(test) {
        return Ok((turn, false));
    }
    let mut locks = Vec::new();
    // They are sorted, so that no two tests wait for each other.
    for crd in &crds {
        locks.push(lock(folder, crd).await?);
    }
    let turn = Arc::new(Turn {
        crds,
        _locks: locks,
    });
    let mut turns = turns();
    turns.retain(|(_, turn)| turn.strong_count() > 0);
    turns.push((test, Arc::downgrade(&turn)));
    Ok((turn, true))
}

/// The turn of a test that has connected before.
fn own(test: ThreadId) -> Option<Arc<Turn>> {
    let turns = turns();
    let mut own = turns.iter().filter(|(thread, _)| *thread == test);
    own.find_map(|(_, turn)| turn.upgrade())
}

async fn lock(folder: &Path, crd: &str) -> anyhow::Result<File> {
    let path = folder.join(format!("{crd}.lock"));
    let cannot = || format!("cannot lock `{}`", path.display());
    let mut options = OpenOptions::new();
    let file = options
        .append(true)
        .create(true)
        .open(&path)
        .with_context(cannot)?;
    let mut reported = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error).with_context(cannot),
            Err(TryLockError::WouldBlock) => {}
        }
        if reported.elapsed() > NOTICE {
            reported = Instant::now();
            eprintln!("waiting for other tests that use `{crd}`, which is cluster-scoped");
        }
        sleep(PERIOD).await;
    }
}

/// Removes all objects of a cluster-scoped kind, whatever their finalizers: no operator runs that would remove these.
async fn remove_objects(client: &Client, crd: &str) -> anyhow::Result<()> {
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd}");
    let Some(spec) = existing(client.request::<Value>(get(&path)?).await)? else {
        return Ok(());
    };
    let spec = &spec["spec"];
    let versions = spec["versions"].as_array().into_iter().flatten();
    // Of this one, nothing has to be converted.
    let mut stored = versions.filter(|version| version["storage"] == true);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let version = stored.next().map(|version| text(&version["name"]));
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    let path = format!("/apis/{group}/{}/{plural}", version.unwrap_or_default());
    let list = existing(client.request::<Value>(get(&path)?).await)?.unwrap_or_default();
    for object in list["items"].as_array().into_iter().flatten() {
        let path = format!("{path}/{}", text(&object["metadata"]["name"]));
        let without = json!({ "metadata": { "finalizers": null } });
        let patched = Request::patch(&path)
            .header(header::CONTENT_TYPE, "application/merge-patch+json")
            .body(without.to_string().into_bytes())?;
        existing(client.request::<Value>(patched).await)?;
        let delete = Request::delete(&path).body(Vec::new())?;
        existing(client.request::<Value>(delete).await)?;
    }
    Ok(())
}

fn get(path: &str) -> anyhow::Result<Request<Vec<u8>>> {
    Ok(Request::get(path).body(Vec::new())?)
}

/// An answer, unless it is that the object does not exist.
fn existing(answer: kube::Result<Value>) -> kube::Result<Option<Value>> {
    match answer {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        answer => answer.map(Some),
    }
}

fn turns() -> MutexGuard<'static, Vec<(ThreadId, Weak<Turn>)>> {
    TURNS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The names of the cluster-scoped CRDs in a folder, sorted; none if it does not exist. They have the form that `kbr manifests` writes.
fn cluster_scoped(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry?.path();
        let text = fs::read_to_string(&path)
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        if text.lines().any(|line| line == "  scope: Cluster") {
            let name = text.lines().find_map(|line| line.strip_prefix("  name: "));
            names.extend(name.map(|name| name.trim_matches('"').to_owned()));
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn cluster_scoped_definitions_are_found() {
        let folder = tempfile::tempdir().unwrap();
        assert!(
            cluster_scoped(&folder.path().join("none"))
                .unwrap()
                .is_empty()
        );
        for (name, scope) in [
            ("ships", "Cluster"),
            ("captains", "Namespaced"),
            ("at", "Cluster"),
        ] {
            let text = format!(
                "apiVersion: apiextensions.k8s.io/v1\nmetadata:\n  name: {name}.crew.example.com\n\
                 spec:\n  names:\n    kind: A\n  scope: {scope}\n  versions:\n  - name: v1\n"
            );
            fs::write(folder.path().join(format!("{name}.yaml")), text).unwrap();
        }
        let found = cluster_scoped(folder.path()).unwrap();
        assert_eq!(found, ["at.crew.example.com", "ships.crew.example.com"]);
    }

    #[test]
    fn tests_that_share_a_kind_run_one_after_another() {
        let folder = tempfile::tempdir().unwrap();
        let (busy, turns) = (AtomicBool::new(false), AtomicUsize::new(0));
        let test = async |first: &str| {
            let crds = vec![first.to_owned(), "ships".to_owned()];
            let (turn, new) = take_in(folder.path(), crds.clone()).await.unwrap();
            assert!(new);
            assert!(!busy.swap(true, Ordering::SeqCst), "two at a time");
            tokio::task::yield_now().await;
            // It connects again.
            let (again, new) = take_in(folder.path(), crds).await.unwrap();
            drop(turn);
            assert!(!new && Arc::strong_count(&again) == 1);
            busy.store(false, Ordering::SeqCst);
            turns.fetch_add(1, Ordering::SeqCst);
        };
        thread::scope(|scope| {
            for name in ["a", "b", "c", "d"] {
                scope.spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread();
                    let runtime = { runtime }.enable_all().build().unwrap();
                    runtime.block_on(test(name));
                });
            }
        });
        assert_eq!(turns.into_inner(), 4);
    }
}
