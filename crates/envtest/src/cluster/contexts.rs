//! Contexts in the user's kubeconfig. kubectl edits it: it knows the format, and locks the file.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// The kubeconfig in `folder`, with certificates and key in it.
pub fn flat(folder: &Path, assets: &Path) -> anyhow::Result<String> {
    run(
        assets,
        &folder.join("kubeconfig"),
        &["config", "view", "--raw", "--flatten"],
    )
}

/// Adds `context`, for the cluster in `folder`, to the user's kubeconfig, and makes it the current one; returns the path of that
/// kubeconfig.
pub fn merge(context: &str, folder: &Path, assets: &Path) -> anyhow::Result<PathBuf> {
    let path = users_kubeconfig()?;
    let file = |name: &str| folder.join(name).display().to_string();
    let server = "--output=jsonpath={.clusters[0].cluster.server}";
    let server = run(
        assets,
        &folder.join("kubeconfig"),
        &["config", "view", server],
    )?;
    let (ca, certificate, key) = (file("ca.crt"), file("admin.crt"), file("admin.key"));
    let cluster = [
        "--embed-certs",
        "--server",
        &server,
        "--certificate-authority",
        &ca,
    ];
    let user = [
        "--embed-certs",
        "--client-certificate",
        &certificate,
        "--client-key",
        &key,
    ];
    let parts = ["--cluster", context, "--user", context];
    for (what, flags) in [
        ("set-cluster", &cluster[..]),
        ("set-credentials", &user),
        ("set-context", &parts),
        ("use-context", &[]),
    ] {
        run(assets, &path, &[&["config", what, context], flags].concat())
            .with_context(|| format!("cannot add `{context}` to `{}`", path.display()))?;
    }
    Ok(path)
}

/// Removes `context` from the kubeconfig `path`. It may be gone, so errors do not matter.
pub fn remove(context: &str, path: &Path, assets: &Path) {
    let edit = |args: &[&str]| run(assets, path, args);
    if edit(&["config", "current-context"]).is_ok_and(|current| current.trim() == context) {
        let _ = edit(&["config", "unset", "current-context"]);
    }
    for what in ["delete-context", "delete-cluster", "delete-user"] {
        let _ = edit(&["config", what, context]);
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
