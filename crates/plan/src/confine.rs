//! The sandbox of a plan: bubblewrap gives the servers and the operator a network and a file system of their own.
//!
//! Only the loopback is there, and nothing of the user's: `/run`, `/tmp` and the home folders are empty, and the rest is read-only. A network
//! namespace alone would not do: sockets in the file system, such as that of Docker, lead out of it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use anyhow::Context as _;
use kbr_envtest::exec;
use kbr_host::diagnostic::Diagnostic;
use tempfile::NamedTempFile;

use super::names::RESOLVER;

/// The program of bubblewrap.
const BWRAP: &str = "bwrap";

/// Folders that are empty in the sandbox.
const EMPTY: [&str; 7] = [
    "/run", "/tmp", "/var/tmp", "/var/run", "/home", "/root", "/mnt",
];

/// What it shows, in words.
pub const SHOWN: &str = "the sandbox shows the current folder and the folders of the system; `/home`, `/root`, `/tmp`, `/mnt` and `/run` are empty";

/// Where kbr is in the sandbox.
const KBR: &str = "/run/kbr/kbr";

/// What the sandbox shows besides the system.
#[derive(Debug)]
pub struct Sandbox {
    /// Folders and files to show read-only, even inside a folder that is otherwise empty.
    pub visible: Vec<PathBuf>,
    /// Folders that get files, because a Deployment mounts a volume there.
    pub written: Vec<PathBuf>,
    /// The current folder, which the operator sees unless it is a home folder. Read-only.
    pub folder: PathBuf,
    /// What the sandbox has instead of the file with the servers of DNS.
    pub resolver: NamedTempFile,
}

/// The file for [`Sandbox::resolver`].
///
/// # Errors
/// It cannot be written.
pub fn resolver() -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new()?;
    file.write_all(RESOLVER.as_bytes())?;
    Ok(file)
}

/// Runs `arguments` of this kbr in the sandbox.
///
/// # Errors
/// bubblewrap is not installed, or may not create a sandbox.
pub fn command(sandbox: &Sandbox, arguments: &[&str]) -> anyhow::Result<Command> {
    check()?;
    let mut tried = around(sandbox)?;
    let tried = tried.arg("version").stdin(Stdio::null()).output()?;
    if !tried.status.success() {
        return Err(not_shown(&String::from_utf8_lossy(&tried.stderr)).into());
    }
    let mut command = around(sandbox)?;
    command.args(arguments);
    Ok(command)
}

/// The error for a sandbox that lacks a file.
fn not_shown(text: &str) -> Diagnostic {
    Diagnostic::new("cannot confine the operator: kbr does not run in the sandbox")
        .help(format_args!(
            "{SHOWN}: install kbr in one of these, such as in `/usr/local/bin`"
        ))
        .details(text.trim())
}

/// This kbr in the sandbox, without arguments.
fn around(sandbox: &Sandbox) -> anyhow::Result<Command> {
    // Empty folders exist in the sandbox alone.
    let is_hidden = |path: &PathBuf| empty().any(|it| path.starts_with(it));
    let written = sandbox.written.iter().filter(|it| !is_hidden(it));
    let written: Vec<PathBuf> = written.cloned().collect();
    let mut bwrap = base(&written).context("cannot read the root folder")?;
    let kbr = exec::this_program().context("cannot find kbr's own program")?;
    bwrap.arg("--ro-bind").arg(kbr).arg(KBR);
    for path in &sandbox.visible {
        bwrap.arg("--ro-bind").arg(path).arg(path);
    }
    // Often a link. A system without the file has no need of another one.
    if let Ok(path) = fs::canonicalize("/etc/resolv.conf") {
        bwrap
            .arg("--ro-bind")
            .args([sandbox.resolver.path(), &path]);
    }
    // A home folder, or one around it, stays empty.
    let is_shown = !empty().any(|it| it.starts_with(&sandbox.folder));
    if is_shown {
        bwrap
            .arg("--ro-bind")
            .args([&sandbox.folder, &sandbox.folder]);
        bwrap.arg("--chdir").arg(&sandbox.folder);
    }
    bwrap.args([
        "--setenv",
        "PATH",
        "/usr/local/bin:/usr/bin:/bin",
        "--setenv",
        "HOME",
        "/tmp",
        "--setenv",
        "TMPDIR",
        "/tmp",
    ]);
    bwrap.arg("--").arg(KBR);
    Ok(bwrap)
}

fn empty() -> impl Iterator<Item = PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let home = home.filter(|it| it.parent().is_some());
    EMPTY.iter().map(PathBuf::from).chain(home)
}

/// The sandbox without anything in it.
fn base(written: &[PathBuf]) -> io::Result<Command> {
    let mut bwrap = Command::new(BWRAP);
    bwrap.args([
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--clearenv",
        // For the server of DNS, in a network without anyone else. As another user, bubblewrap has a second user namespace for these
        // programs, in which the capability is of no use.
        "--uid",
        "0",
        "--gid",
        "0",
        "--cap-add",
        "CAP_NET_BIND_SERVICE",
    ]);
    show(Path::new("/"), written, &mut bwrap)?;
    for folder in empty() {
        // A link leads to one of the others.
        if folder.is_dir() && !folder.is_symlink() {
            bwrap.arg("--tmpfs").arg(folder);
        }
    }
    bwrap.args(["--proc", "/proc", "--dev", "/dev"]);
    Ok(bwrap)
}

/// Shows the content of a folder read-only. A folder that gets files is created in the sandbox, with its parents, and their other content is
/// shown in them.
fn show(path: &Path, written: &[PathBuf], bwrap: &mut Command) -> io::Result<()> {
    let is_own = |child: &Path| written.iter().any(|it| it.starts_with(child));
    for entry in fs::read_dir(path)? {
        let child = entry?.path();
        let kind = child.symlink_metadata()?.file_type();
        if kind.is_symlink() {
            bwrap.arg("--symlink").arg(child.read_link()?).arg(&child);
        } else if kind.is_dir() && is_own(&child) {
            bwrap.arg("--dir").arg(&child);
            show(&child, written, bwrap)?;
        } else if !["/dev", "/proc"].map(Path::new).contains(&&*child) {
            bwrap.arg("--ro-bind-try").arg(&child).arg(&child);
        }
    }
    Ok(())
}

fn check() -> anyhow::Result<()> {
    let tried =
        base(&[]).and_then(|mut it| it.args(["--", "/bin/true"]).stdin(Stdio::null()).output());
    let unconfined =
        "or pass --unconfined, with which the operator can reach your network and your files";
    let tried = tried.map_err(|error| {
        Diagnostic::new(format_args!(
            "cannot confine the operator: cannot run `{BWRAP}`: {error}"
        ))
        .help(format_args!(
            "install bubblewrap, for example with `apt-get install bubblewrap`; {unconfined}"
        ))
    })?;
    if tried.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&tried.stderr);
    let help = if Path::new("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").exists() {
        "allow it with `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`"
    } else {
        "allow this user to create user namespaces"
    };
    Err(
        Diagnostic::new("cannot confine the operator: bubblewrap may not create a sandbox here")
            .help(format_args!("{help}; {unconfined}"))
            .details(text.trim())
            .into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_that_get_files_are_rebuilt_in_the_sandbox() {
        let mut bwrap = Command::new(BWRAP);
        show(
            Path::new("/"),
            &[PathBuf::from("/etc/webhook/certs")],
            &mut bwrap,
        )
        .unwrap();
        let arguments: Vec<String> = bwrap
            .get_args()
            .map(|it| it.display().to_string())
            .collect();
        let has = |expected: [&str; 3]| arguments.windows(3).any(|it| it == expected);
        assert!(has(["--ro-bind-try", "/usr", "/usr"]));
        assert!(has(["--ro-bind-try", "/etc/passwd", "/etc/passwd"]));
        assert!(arguments.windows(2).any(|it| it == ["--dir", "/etc"]));
        assert!(!has(["--ro-bind-try", "/etc", "/etc"]));
        assert!(!has(["--ro-bind-try", "/proc", "/proc"]));
    }
}
