//! `kbr envtest build`: builds the programs of a control plane or a cluster from source, with Go and its module proxy only.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::assets::{self, Assets, CLUSTER_PROGRAMS, PROGRAMS, Store};
use super::modules::{KWOK, Module};
use super::work::{BUILD, WorkFolder, remove_folder};
use super::{go, progress};

/// Builds the programs of a version of Kubernetes that `store` lacks, those of a whole cluster included if `cluster` is set. The
/// programs appear in the folder at once, if they are the first ones; a second `build` waits for the first.
pub fn build(store: &Store, kubernetes: &Module, cluster: bool) -> anyhow::Result<Assets> {
    let folder = store.folder(kubernetes.kubernetes());
    if missing(&folder, cluster).is_empty() {
        return assets::complete(&folder, "");
    }
    let work = WorkFolder::lock(store)?;
    let programs = missing(&folder, cluster);
    if !programs.is_empty() {
        let build = work.path(BUILD);
        // The remains of a killed build.
        remove_folder(&build)?;
        build_in(&build, kubernetes, &programs)
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
fn build_in(work: &Path, kubernetes: &Module, programs: &[&str]) -> anyhow::Result<PathBuf> {
    let out = work.join("out");
    fs::create_dir_all(&out).with_context(|| format!("cannot write to `{}`", work.display()))?;
    let (kwok, others): (Vec<&str>, Vec<&str>) =
        programs.iter().copied().partition(|name| *name == "kwok");
    if !others.is_empty() {
        let folder = write(kubernetes, &work.join("control-plane"))?;
        let version = kubernetes.kubernetes();
        let about = format!("{} of Kubernetes {version}", others.join(", "));
        progress(
            "building",
            &format!("{about} (about 7 minutes on two cores, the first time)"),
        );
        go::build(&folder, &out, &packages(&others), &go::ldflags(version))?;
    }
    if !kwok.is_empty() {
        let folder = write(&KWOK, &work.join("kwok"))?;
        progress("building", "kwok (up to two minutes)");
        go::build(&folder, &out, &packages(&kwok), "-s -w")?;
    }
    if programs.contains(&"etcd") {
        // Go names a program by the last element of its package.
        fs::rename(out.join("server"), out.join("etcd")).context("go did not build etcd")?;
    }
    Ok(out)
}

/// Writes a module to `folder`, and checks that Go is new enough for it; returns the folder.
fn write(module: &Module, folder: &Path) -> anyhow::Result<PathBuf> {
    let write = || -> std::io::Result<()> {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("go.mod"), module.go_mod)?;
        fs::write(folder.join("go.sum"), module.go_sum)
    };
    write().with_context(|| format!("cannot write to `{}`", folder.display()))?;
    go::check(folder, module.go())?;
    Ok(folder.to_owned())
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
