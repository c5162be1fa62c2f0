//! `kbr envtest use --or-build`: builds where nothing can be downloaded.

use anyhow::Context;

use super::assets::{self, Store};
use super::http::Unavailable;
use super::platform::Platform;
use super::provide::{Options, Provided, UNCHANGED, failure, provide};
use super::selector::Version;
use super::{build, progress};

/// Like [`provide`], and builds kbr's own version if nothing can be downloaded.
///
/// # Errors
/// As [`provide`]; or another minor version was asked for, or it cannot be built.
pub fn provide_or_build(store: &Store, options: &Options) -> anyhow::Result<Provided> {
    match provide(store, options) {
        Err(error) if error.is::<Unavailable>() => {
            let own = version_to_build(options, &error).context(UNCHANGED)?;
            build_instead(store, own)
        }
        result => result,
    }
}

/// kbr's own version, if it has the minor version that was asked for.
fn version_to_build(options: &Options, cause: &anyhow::Error) -> anyhow::Result<Version> {
    let (selector, host) = (&options.selector, Platform::host());
    let own: Version = assets::version().parse().map_err(anyhow::Error::msg)?;
    let cause = cause.root_cause().to_string();
    let cause = cause.lines().next().unwrap_or_default();
    if !options.platform.matches(&host) {
        let platform = &options.platform;
        let text = format!("kbr builds only for this platform, {host}, and not for {platform}");
        return Err(failure(text).details(cause).into());
    }
    if !selector.versions.accepts_minor_of(own) {
        let minor = format!("{}.{}", own.major, own.minor);
        let text =
            format!("`{selector}` cannot be downloaded, and kbr builds only Kubernetes {minor}");
        let help = format!("for Kubernetes {minor}, run kbr envtest use --or-build {minor}");
        return Err(failure(text).details(cause).help(help).into());
    }
    progress("unavailable", cause);
    let instead = format!("Kubernetes {own}, which kbr builds, for `{selector}`");
    progress("providing", &instead);
    Ok(own)
}

fn build_instead(store: &Store, own: Version) -> anyhow::Result<Provided> {
    let built = build::build(store, false)?;
    Ok(Provided {
        version: Some(own),
        platform: Platform::host(),
        sha512: None,
        folder: built.folder,
    })
}
