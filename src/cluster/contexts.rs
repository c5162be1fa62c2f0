//! Contexts in the user's kubeconfig. kubectl edits it: it knows the format, and locks the file.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::envtest::kubeconfig;

/// The kubeconfig in `folder`, with certificates and key in it.
pub fn flat(folder: &Path, assets: &Path) -> anyhow::Result<String> {
    run(
        assets,
        &folder.join("kubeconfig"),
        &["config", "view", "--raw", "--flatten"],
    )
}

/// Adds the cluster's context to the user's kubeconfig, and makes it the current one; returns the path of that kubeconfig.
pub fn merge(folder: &Path, name: &str, assets: &Path) -> anyhow::Result<PathBuf> {
    let path = users_kubeconfig()?;
    let context = kubeconfig::context(folder);
    let file = |name: &str| folder.join(name).display().to_string();
    let server = run(
        assets,
        &folder.join("kubeconfig"),
        &[
            "config",
            "view",
            "--output",
            "jsonpath={.clusters[0].cluster.server}",
        ],
    )?;
    let edit = |args: &[&str]| run(assets, &path, args);
    edit(&[
        "config",
        "set-cluster",
        &context,
        "--embed-certs",
        "--server",
        &server,
        "--certificate-authority",
        &file("ca.crt"),
    ])?;
    edit(&[
        "config",
        "set-credentials",
        &context,
        "--embed-certs",
        "--client-certificate",
        &file("admin.crt"),
        "--client-key",
        &file("admin.key"),
    ])?;
    edit(&[
        "config",
        "set-context",
        &context,
        "--cluster",
        &context,
        "--user",
        &context,
    ])?;
    edit(&["config", "use-context", &context])
        .with_context(|| format!("cannot add the context of `{name}` to `{}`", path.display()))?;
    Ok(path)
}

/// Removes the context from the kubeconfig `path`. It may be gone, so errors do not matter.
pub fn remove(path: &Path, folder: &Path, assets: &Path) {
    let context = kubeconfig::context(folder);
    let edit = |args: &[&str]| run(assets, path, args);
    if edit(&["config", "current-context"]).is_ok_and(|current| current.trim() == context) {
        let _ = edit(&["config", "unset", "current-context"]);
    }
    for what in ["delete-context", "delete-cluster", "delete-user"] {
        let _ = edit(&["config", what, &context]);
    }
}

/// The first file of `KUBECONFIG`, or the default one.
fn users_kubeconfig() -> anyhow::Result<PathBuf> {
    let set = env::var_os("KUBECONFIG").unwrap_or_default();
    if let Some(first) = env::split_paths(&set).find(|path| !path.as_os_str().is_empty()) {
        return Ok(std::path::absolute(first)?);
    }
    let home = env::var_os("HOME").context("no home folder found for the kubeconfig")?;
    Ok(PathBuf::from(home).join(".kube/config"))
}

fn run(assets: &Path, kubeconfig: &Path, args: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(assets.join("kubectl"))
        .args(args)
        .env("KUBECONFIG", kubeconfig)
        .env("KUBERC", "off")
        .stdin(Stdio::null())
        .output()
        .context("cannot run kubectl")?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!(
            "`kubectl {}` fails: {}",
            args[..2.min(args.len())].join(" "),
            errors.trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
