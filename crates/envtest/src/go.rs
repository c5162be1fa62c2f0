//! Builds programs with Go.

use std::fmt::{Display, Write};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use super::{assets, progress};
use kbr_host::diagnostic::Diagnostic;

/// The packages with the version that a Kubernetes program reports.
const VERSION_PACKAGES: [&str; 2] = [
    "k8s.io/component-base/version",
    "k8s.io/client-go/pkg/version",
];

/// Replaces the user's flags, from the environment or from `go env -w`: an empty value would not. It is Go's default.
const FLAGS: &str = "-mod=readonly";

/// Go in the module's folder, without the user's settings for workspaces, vendoring and flags.
fn go(module: &Path) -> Command {
    let mut go = Command::new("go");
    go.current_dir(module)
        .envs([("GOWORK", "off"), ("GO111MODULE", "on"), ("GOFLAGS", FLAGS)])
        .envs([("GOOS", assets::os()), ("GOARCH", assets::arch())])
        .env("CGO_ENABLED", "0")
        .stdin(Stdio::null());
    go
}

/// Fails unless Go is installed, and not older than `wanted`; Go itself downloads a newer toolchain if that is allowed.
pub fn check(module: &Path, wanted: &str) -> anyhow::Result<()> {
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
    Diagnostic::new(text).help(help)
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

/// Builds these packages of the module in `module` into `out`, which exists; reports progress.
pub fn build(module: &Path, out: &Path, packages: &[String], flags: &str) -> anyhow::Result<()> {
    let mut child = go(module)
        .args(["build", "-v", "-trimpath", "-buildvcs=false", "-ldflags"])
        .arg(flags)
        // The trailing slash makes it a folder for several programs.
        .arg("-o")
        .arg(out.join(""))
        .args(packages)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("cannot run `go build`")?;
    let errors = child.stderr.take().map(follow).unwrap_or_default();
    let status = child.wait().context("cannot wait for `go build`")?;
    if !status.success() {
        let help = "if modules could not be downloaded, set GOPROXY to a reachable proxy";
        return Err(failure(format_args!("`go build` failed ({status})"), help)
            .details(errors)
            .into());
    }
    Ok(())
}

/// The linker's flags for programs of Kubernetes `version`, which they report.
pub fn ldflags(version: &str) -> String {
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
            rest.extend([&line, "\n"]);
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
    fn the_users_flags_do_not_reach_a_build() {
        let folder = tempfile::tempdir().unwrap();
        let settings = folder.path().join("env");
        std::fs::write(&settings, "GOFLAGS=-mod=vendor -tags=none\n").unwrap();
        let mut go = go(folder.path());
        let output = go.env("GOENV", &settings).args(["env", "GOFLAGS"]).output();
        assert_eq!(output.unwrap().stdout, format!("{FLAGS}\n").as_bytes());
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
}
