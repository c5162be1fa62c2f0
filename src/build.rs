//! Makes cargo notice new and removed files under `scaffolds/`, which `include_dir!` does not do, and lists the files of `library/` and
//! the archives in `releases/` for `src/embedded.rs`. Fails on unsupported systems: an error here is the only message, whereas `compile_error!` would be followed by
//! many others.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=scaffolds");
    println!("cargo::rerun-if-changed=library");
    if env::var_os("CARGO_CFG_UNIX").is_none() {
        println!("cargo::error=kbr runs on Linux and macOS; on Windows, build and run it in WSL");
    }
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut packages: Vec<PathBuf> = fs::read_dir(root.join("library"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<_>>()?;
    packages.sort();
    let mut list = String::from("&[\n");
    for package in &packages {
        let name = package.file_name().and_then(|name| name.to_str());
        let name = name.ok_or(io::ErrorKind::InvalidFilename)?;
        let files = files(package)?;
        writeln!(list, "({name:?}, &[\n{files}]),").map_err(io::Error::other)?;
    }
    list += "]\n";
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("library.rs"), list)?;
    fs::write(out.join("releases.rs"), releases(&root.join("releases"))?)
}

/// The archives in `folder`, as code: a pair of version and content on each line, the oldest release first. The package of kbr has no
/// such folder before there is an archive.
fn releases(folder: &Path) -> io::Result<String> {
    let mut found = Vec::new();
    if folder.is_dir() {
        println!("cargo::rerun-if-changed=releases");
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            if let Some(version) = name.and_then(|name| name.strip_suffix(".tar.gz")) {
                let numbers = version.split('.').map(|it| it.parse::<u64>().ok());
                let file = path.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
                found.push((
                    numbers.collect::<Vec<_>>(),
                    version.to_owned(),
                    file.to_owned(),
                ));
            }
        }
    }
    found.sort();
    let mut list = String::from("&[\n");
    for (_, version, file) in found {
        writeln!(list, "    ({version:?}, include_bytes!({file:?})),").map_err(io::Error::other)?;
    }
    Ok(list + "]\n")
}

/// The files of a package, as code: a pair of path and text on each line.
fn files(package: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    walk(package, &mut files)?;
    let name = |file: &PathBuf| {
        let path = file.strip_prefix(package).unwrap_or(file);
        let path = path.to_string_lossy();
        // With a `Cargo.toml`, cargo would treat the folder as a package and exclude it from kbr's.
        path.strip_suffix(".normalised").unwrap_or(&path).to_owned()
    };
    files.sort_by_cached_key(name);
    let mut list = String::new();
    for file in &files {
        let name = name(file);
        let file = file.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
        writeln!(list, "    ({name:?}, include_str!({file:?})),").map_err(io::Error::other)?;
    }
    Ok(list)
}

/// Every file below `folder` except unit tests, like the `include` of the packages' manifests.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.ends_with("tests") || path.ends_with("tests.rs") {
            continue;
        }
        if path.is_dir() {
            walk(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
