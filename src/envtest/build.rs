//! `kbr envtest build`: builds the programs of a control plane or a cluster from source, with Go and its module proxy only.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::assets::{self, Assets, CLUSTER_PROGRAMS, GO_MOD, PROGRAMS, Store};
use super::work::{BUILD, WorkFolder, remove_folder};
use super::{go, progress};

const GO_SUM: &str = include_str!("control-plane/go.sum");

/// kwok needs older modules of Kubernetes, so it has a module file of its own.
const KWOK_MOD: &str = include_str!("kwok/go.mod");
const KWOK_SUM: &str = include_str!("kwok/go.sum");

/// Builds the programs that `store` lacks, those of a whole cluster included if `cluster` is set. The programs appear in the
/// folder at once, if they are the first ones; a second `build` waits for the first.
pub fn build(store: &Store, cluster: bool) -> anyhow::Result<Assets> {
    let folder = store.folder();
    if missing(&folder, cluster).is_empty() {
        return assets::complete(&folder, "");
    }
    let work = WorkFolder::lock(store)?;
    let programs = missing(&folder, cluster);
    if !programs.is_empty() {
        let build = work.path(BUILD);
        // The remains of a killed build.
        remove_folder(&build)?;
        build_in(&build, &programs)
            .and_then(|built| publish(&built, &folder, &programs))
            .context("nothing was added to the store")?;
    }
    assets::complete(&folder, "run kbr envtest build again")
}

/// The programs to build. An incomplete control plane is built again as a whole.
fn missing(folder: &Path, cluster: bool) -> Vec<&'static str> {
    let mut programs = Vec::new();
    if assets::complete(folder, "").is_err() {
        programs.extend(PROGRAMS);
    }
    if cluster {
        let lacks = |name: &&str| assets::check(folder, &[name], "").is_err();
        programs.extend(CLUSTER_PROGRAMS.into_iter().filter(lacks));
    }
    programs
}

/// Builds the programs in `work`; the result is a folder that contains only them.
fn build_in(work: &Path, programs: &[&str]) -> anyhow::Result<PathBuf> {
    let out = work.join("out");
    fs::create_dir_all(&out).with_context(|| format!("cannot write to `{}`", work.display()))?;
    let (kwok, kubernetes): (Vec<&str>, Vec<&str>) =
        programs.iter().copied().partition(|name| *name == "kwok");
    if !kubernetes.is_empty() {
        let module = module(work, "control-plane", GO_MOD, GO_SUM)?;
        go::check(&module, GO_MOD)?;
        let about = format!(
            "{} of Kubernetes {}",
            kubernetes.join(", "),
            assets::version()
        );
        progress(
            "building",
            &format!("{about} (about 7 minutes on two cores, the first time)"),
        );
        go::build(
            &module,
            &out,
            &packages(&kubernetes),
            &go::ldflags(assets::version()),
        )?;
    }
    if !kwok.is_empty() {
        let module = module(work, "kwok", KWOK_MOD, KWOK_SUM)?;
        go::check(&module, KWOK_MOD)?;
        progress("building", "kwok (about two minutes)");
        go::build(&module, &out, &packages(&kwok), "-s -w")?;
    }
    if programs.contains(&"etcd") {
        // Go names a program by the last element of its package.
        fs::rename(out.join("server"), out.join("etcd")).context("go built no etcd")?;
    }
    Ok(out)
}

/// Writes a module; returns its folder.
fn module(work: &Path, name: &str, go_mod: &str, go_sum: &str) -> anyhow::Result<PathBuf> {
    let folder = work.join(name);
    let write = || -> std::io::Result<()> {
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("go.mod"), go_mod)?;
        fs::write(folder.join("go.sum"), go_sum)
    };
    write().with_context(|| format!("cannot write to `{}`", folder.display()))?;
    Ok(folder)
}

/// The Go packages of programs.
fn packages(programs: &[&str]) -> Vec<String> {
    let package = |program: &&str| match *program {
        "etcd" => "go.etcd.io/etcd/server/v3".to_owned(),
        "kwok" => "sigs.k8s.io/kwok/cmd/kwok".to_owned(),
        program => format!("k8s.io/kubernetes/cmd/{program}"),
    };
    programs.iter().map(package).collect()
}

/// Moves `programs` from `built` to `folder`: all at once, unless the folder exists already.
fn publish(built: &Path, folder: &Path, programs: &[&str]) -> anyhow::Result<()> {
    let publish = || -> std::io::Result<()> {
        fs::create_dir_all(folder.parent().unwrap_or(folder))?;
        if fs::rename(built, folder).is_ok() {
            return Ok(());
        }
        // setup-envtest makes it read-only.
        fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        for program in programs {
            fs::rename(built.join(program), folder.join(program))?;
        }
        Ok(())
    };
    publish().with_context(|| format!("cannot write to `{}`", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_folder_is_completed() {
        let store = tempfile::tempdir().unwrap();
        let (built, folder) = (store.path().join("built"), store.path().join("k8s/folder"));
        fs::create_dir_all(&built).unwrap();
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("etcd"), "half").unwrap();
        for program in PROGRAMS {
            fs::write(built.join(program), "whole").unwrap();
        }
        publish(&built, &folder, &PROGRAMS).unwrap();
        assert_eq!(fs::read_to_string(folder.join("etcd")).unwrap(), "whole");
        assert!(folder.join("kubectl").exists());
    }
}
