//! `kbr envtest build`: builds the programs of a control plane or a cluster from source, with Go and its module proxy only.

use std::fmt::{Display, Write};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use super::assets::{self, Assets, CLUSTER_PROGRAMS, GO_MOD, PROGRAMS, Store};
use super::progress;
use crate::diagnostic::{Diagnostic, Outcome};

const GO_SUM: &str = include_str!("control-plane/go.sum");

/// kwok needs older modules of Kubernetes, so it has a module file of its own.
const KWOK_MOD: &str = include_str!("kwok/go.mod");
const KWOK_SUM: &str = include_str!("kwok/go.sum");

/// The packages with the version that a Kubernetes program reports.
const VERSION_PACKAGES: [&str; 2] = [
    "k8s.io/component-base/version",
    "k8s.io/client-go/pkg/version",
];

/// Builds the programs that `store` lacks, those of a whole cluster included if `cluster` is set. The programs appear in the
/// folder at once, if they are the first ones; a second `build` waits for the first.
pub fn build(store: &Store, cluster: bool) -> anyhow::Result<Assets> {
    let folder = store.folder();
    if missing(&folder, cluster).is_empty() {
        return assets::complete(&folder, "");
    }
    let _lock = lock(&store.root)?;
    let programs = missing(&folder, cluster);
    if !programs.is_empty() {
        // The name is fixed, so that the next holder of the lock can remove the remains of a killed build.
        let work = store.root.join(".kbr-build");
        remove(&work)?;
        let built =
            build_in(&work, &programs).and_then(|built| publish(&built, &folder, &programs));
        remove(&work)?;
        built.context("nothing was added to the store")?;
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

fn lock(root: &Path) -> anyhow::Result<File> {
    let path = root.join(".kbr-build.lock");
    let open = || -> std::io::Result<File> {
        fs::create_dir_all(root)?;
        let file = File::create(&path)?;
        if file.try_lock().is_err() {
            progress("waiting", "for another kbr envtest build");
            file.lock()?;
        }
        Ok(file)
    };
    open().with_context(|| format!("cannot lock `{}`", path.display()))
}

fn remove(folder: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove `{}`", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Builds the programs in `work`; the result is a folder that contains only them.
fn build_in(work: &Path, programs: &[&str]) -> anyhow::Result<PathBuf> {
    let out = work.join("out");
    fs::create_dir_all(&out).with_context(|| format!("cannot write to `{}`", work.display()))?;
    let (kwok, kubernetes): (Vec<&str>, Vec<&str>) =
        programs.iter().copied().partition(|name| *name == "kwok");
    if !kubernetes.is_empty() {
        let module = module(work, "control-plane", GO_MOD, GO_SUM)?;
        check_go(&module, GO_MOD)?;
        let about = format!(
            "{} of Kubernetes {}",
            kubernetes.join(", "),
            assets::version()
        );
        progress(
            "building",
            &format!("{about} (about 7 minutes on two cores, the first time)"),
        );
        go_build(&module, &out, &kubernetes, &ldflags(assets::version()))?;
    }
    if !kwok.is_empty() {
        let module = module(work, "kwok", KWOK_MOD, KWOK_SUM)?;
        check_go(&module, KWOK_MOD)?;
        progress("building", "kwok (about two minutes)");
        go_build(&module, &out, &kwok, "-s -w")?;
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

/// The Go package of a program.
fn package(program: &str) -> String {
    match program {
        "etcd" => "go.etcd.io/etcd/server/v3".to_owned(),
        "kwok" => "sigs.k8s.io/kwok/cmd/kwok".to_owned(),
        _ => format!("k8s.io/kubernetes/cmd/{program}"),
    }
}

/// Go in the module's folder, without the user's settings for workspaces and vendoring.
fn go(module: &Path) -> Command {
    let mut go = Command::new("go");
    go.current_dir(module)
        .envs([("GOWORK", "off"), ("GO111MODULE", "on"), ("GOFLAGS", "")])
        .envs([("GOOS", assets::os()), ("GOARCH", assets::arch())])
        .env("CGO_ENABLED", "0")
        .stdin(Stdio::null());
    go
}

/// Fails unless Go is installed and new enough; Go itself downloads a newer toolchain if that is allowed.
fn check_go(module: &Path, go_mod: &str) -> anyhow::Result<()> {
    let wanted = assets::required(go_mod, "go ").unwrap_or("1.26.0");
    let help =
        format!("install Go {wanted} or newer, from https://go.dev/dl/ or your distribution");
    let output = match go(module).args(["env", "GOVERSION"]).output() {
        Ok(output) => output,
        Err(error) => return Err(failure(format_args!("cannot run `go`: {error}"), help).into()),
    };
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let text = format!("`go env` failed: {}", errors.trim());
        return Err(failure(text, help).into());
    }
    let found = String::from_utf8_lossy(&output.stdout);
    if too_old(found.trim(), wanted) {
        let text = format!("`go` is too old: {}", found.trim());
        return Err(failure(text, help).into());
    }
    Ok(())
}

fn failure(text: impl Display, help: impl Display) -> Diagnostic {
    Diagnostic::new(text)
        .outcome(Outcome::Unmentioned)
        .help(help)
}

/// Whether `found` (`go1.24.5`, `go1.26rc1`) is an older release than `wanted` (`1.26.0`); a development version is not.
fn too_old(found: &str, wanted: &str) -> bool {
    let release = |text: &str| -> Option<(u32, u32)> {
        let (major, rest) = text.trim_start_matches("go").split_once('.')?;
        let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    match (release(found), release(wanted)) {
        (Some(found), Some(wanted)) => found < wanted,
        _ => false,
    }
}

fn go_build(module: &Path, out: &Path, programs: &[&str], flags: &str) -> anyhow::Result<()> {
    let mut child = go(module)
        .args(["build", "-v", "-trimpath", "-buildvcs=false", "-ldflags"])
        .arg(flags)
        // The trailing slash makes it a folder for several programs.
        .arg("-o")
        .arg(out.join(""))
        .args(programs.iter().map(|name| package(name)))
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("cannot run `go build`")?;
    let errors = child.stderr.take().map(follow).unwrap_or_default();
    let status = child.wait().context("cannot wait for `go build`")?;
    if !status.success() {
        let help = "if modules could not be downloaded, set GOPROXY to a reachable proxy";
        return Err(failure(
            format_args!("`go build` failed ({status})\n{}", errors.trim_end()),
            help,
        )
        .into());
    }
    Ok(())
}

fn ldflags(version: &str) -> String {
    let mut parts = version.split('.');
    let (major, minor) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let mut flags = String::from("-s -w");
    for package in VERSION_PACKAGES {
        for (name, value) in [
            ("gitVersion", format!("v{version}").as_str()),
            ("gitMajor", major),
            ("gitMinor", minor),
        ] {
            // Writing to a string cannot fail.
            let _ = write!(flags, " -X {package}.{name}={value}");
        }
    }
    flags
}

/// Reads the output of `go build -v`, reports progress every few seconds, and returns the error lines.
fn follow(stderr: ChildStderr) -> String {
    let started = Instant::now();
    let (mut downloaded, mut compiled, mut reported) = (0, 0, Duration::ZERO);
    let mut rest = String::new();
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        if line.starts_with("go: downloading ") {
            downloaded += 1;
        } else if line.contains(' ') || line.starts_with('#') {
            rest.extend(["  ", &line, "\n"]);
        } else {
            compiled += 1;
        }
        if started.elapsed() >= reported + Duration::from_secs(10) {
            reported = started.elapsed();
            progress(
                "building",
                &format!(
                    "{downloaded} modules downloaded, {compiled} packages compiled, {} s",
                    reported.as_secs()
                ),
            );
        }
    }
    rest
}

/// Moves `programs` from `built` to `folder`: all at once, unless the folder exists already.
fn publish(built: &Path, folder: &Path, programs: &[&str]) -> anyhow::Result<()> {
    let publish = || -> std::io::Result<()> {
        fs::create_dir_all(folder.parent().unwrap_or(folder))?;
        if fs::rename(built, folder).is_ok() {
            return Ok(());
        }
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
    fn an_older_release_of_go_is_too_old() {
        assert!(too_old("go1.24.5", "1.26.0"));
        assert!(too_old("go1.9", "1.26.0"));
    }

    #[test]
    fn an_equal_newer_or_unknown_go_is_not_too_old() {
        for found in [
            "go1.26.8",
            "go1.26rc1",
            "go1.27.1",
            "go2.0",
            "devel +abc",
            "go1.26.0 X:jsonv2",
        ] {
            assert!(!too_old(found, "1.26.0"), "{found}");
        }
    }

    #[test]
    fn the_programs_report_their_version() {
        let flags = ldflags("1.36.3");
        assert!(flags.starts_with("-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3 "));
        assert!(
            flags.ends_with(" -X k8s.io/client-go/pkg/version.gitMinor=36"),
            "{flags}"
        );
    }

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
