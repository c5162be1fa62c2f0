//! `kbr envtest build`: builds etcd, kube-apiserver and kubectl from source, with Go and its module proxy only.

use std::fmt::{Display, Write};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use super::assets::{self, Assets, GO_MOD, PROGRAMS, Store};
use super::progress;
use crate::diagnostic::{Diagnostic, Outcome};

const GO_SUM: &str = include_str!("control-plane/go.sum");

/// The packages with the version that a Kubernetes program reports.
const VERSION_PACKAGES: [&str; 2] = [
    "k8s.io/component-base/version",
    "k8s.io/client-go/pkg/version",
];

/// Builds the programs that `store` lacks. The complete folder appears atomically; a second `build` waits for the first.
pub fn build(store: &Store) -> anyhow::Result<Assets> {
    let folder = store.folder();
    if let Ok(assets) = assets::complete(&folder, "") {
        return Ok(assets);
    }
    let _lock = lock(&store.root)?;
    if let Ok(assets) = assets::complete(&folder, "") {
        return Ok(assets);
    }
    // The name is fixed, so that the next holder of the lock can remove the remains of a killed build.
    let work = store.root.join(".kbr-build");
    remove(&work)?;
    let built = build_in(&work).and_then(|built| publish(&built, &folder));
    remove(&work)?;
    built.context("nothing was added to the store")?;
    assets::complete(&folder, "run kbr envtest build again")
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
fn build_in(work: &Path) -> anyhow::Result<PathBuf> {
    let (module, out) = (work.join("module"), work.join("out"));
    let write = || -> std::io::Result<()> {
        fs::create_dir_all(&module)?;
        fs::create_dir_all(&out)?;
        fs::write(module.join("go.mod"), GO_MOD)?;
        fs::write(module.join("go.sum"), GO_SUM)
    };
    write().with_context(|| format!("cannot write to `{}`", work.display()))?;
    check_go(&module)?;
    go_build(&module, &out)?;
    // Go names a program by the last element of its package.
    fs::rename(out.join("server"), out.join("etcd")).context("go built no etcd")?;
    Ok(out)
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
fn check_go(module: &Path) -> anyhow::Result<()> {
    let wanted = assets::required(GO_MOD, "go ").unwrap_or("1.26.0");
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

fn go_build(module: &Path, out: &Path) -> anyhow::Result<()> {
    let version = assets::version();
    progress(
        "building",
        &format!("etcd and Kubernetes {version} (about 7 minutes on two cores, the first time)"),
    );
    let mut child = go(module)
        .args(["build", "-v", "-trimpath", "-buildvcs=false", "-ldflags"])
        .arg(ldflags(version))
        // The trailing slash makes it a folder for several programs.
        .arg("-o")
        .arg(out.join(""))
        .arg("tool")
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

/// Moves the programs of `built` to `folder`: all at once, unless an incomplete folder already exists.
fn publish(built: &Path, folder: &Path) -> anyhow::Result<()> {
    let publish = || -> std::io::Result<()> {
        fs::create_dir_all(folder.parent().unwrap_or(folder))?;
        if fs::rename(built, folder).is_ok() {
            return Ok(());
        }
        for program in PROGRAMS {
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
        publish(&built, &folder).unwrap();
        assert_eq!(fs::read_to_string(folder.join("etcd")).unwrap(), "whole");
        assert!(folder.join("kubectl").exists());
    }
}
