//! The `Cargo.lock` of a new project, written without cargo: the reference project's lock with the project's packages renamed, and
//! packages and dependencies sorted by name like cargo does.

use crate::library::{self, Origin};

/// The name of the reference project, which `kbr init` created. Its lock is a part of each release.
const REFERENCE: &str = "kbr-reference";

/// The first line of each package.
const PACKAGE: &str = "\n[[package]]\n";

/// The lock of the project `name`, from that of a reference project. Without the packages of a library in the registry, whose checksums
/// only cargo knows: its next command adds them.
pub fn named(reference: &str, name: &str, library: Origin) -> String {
    let mut parts = reference.split(PACKAGE);
    let head = parts.next().unwrap_or_default();
    let is_left_out = |package: &str| {
        library == Origin::Registry && library::packages().any(|ours| ours == package_name(package))
    };
    let packages = parts.filter(|package| !is_left_out(package));
    let mut packages: Vec<String> = packages
        .map(|package| rename_package(package, name))
        .collect();
    // A stable sort keeps the order of several versions of a crate.
    packages.sort_by(|a, b| package_name(a).cmp(package_name(b)));
    let mut lock = head.to_owned();
    for package in packages {
        lock += PACKAGE;
        lock += package.trim_end();
        lock += "\n";
    }
    lock
}

/// The names of the crates in the lock of the reference project that are not its own.
pub fn crates(reference: &str) -> impl Iterator<Item = &str> {
    reference
        .split(PACKAGE)
        .skip(1)
        .map(package_name)
        .filter(|name| ![REFERENCE, "kbr-reference-api"].contains(name))
        .filter(|name| !library::packages().any(|package| package == *name))
}

fn rename_package(package: &str, name: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut dependencies: Vec<String> = Vec::new();
    for line in package.lines() {
        let line = rename_line(line, name);
        if line.starts_with(' ') {
            dependencies.push(line);
            continue;
        }
        dependencies.sort();
        lines.append(&mut dependencies);
        lines.push(line);
    }
    lines.join("\n")
}

fn rename_line(line: &str, name: &str) -> String {
    for ours in [REFERENCE, "kbr-reference-api"] {
        let renamed = ours.replacen(REFERENCE, name, 1);
        if line == format!("name = \"{ours}\"") {
            return format!("name = \"{renamed}\"");
        }
        if line == format!(" \"{ours}\",") {
            return format!(" \"{renamed}\",");
        }
    }
    line.to_owned()
}

/// The name in a package's first line.
fn package_name(package: &str) -> &str {
    let line = package.lines().next().unwrap_or_default();
    line.trim_start_matches("name = \"").trim_end_matches('"')
}

#[cfg(test)]
mod tests;
