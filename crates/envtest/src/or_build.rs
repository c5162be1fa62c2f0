//! `kbr envtest use --or-build`: builds where nothing can be downloaded.

use anyhow::Context;

use super::assets::Store;
use super::http::Unavailable;
use super::modules::{self, Module};
use super::platform::Platform;
use super::provide::{Options, Provided, UNCHANGED, failure, provide};
use super::selector::Version;
use super::{build, progress};

/// Like [`provide`], and builds one of kbr's versions if nothing can be downloaded.
///
/// # Errors
/// As [`provide`]; or kbr builds no version with the minor version that was asked for, or it cannot be built.
pub fn provide_or_build(store: &Store, options: &Options) -> anyhow::Result<Provided> {
    match provide(store, options) {
        Err(error) if error.is::<Unavailable>() => {
            let (module, version) = version_to_build(options, &error).context(UNCHANGED)?;
            build_instead(store, module, version)
        }
        result => result,
    }
}

/// The newest of kbr's versions with a minor version that was asked for.
fn version_to_build(
    options: &Options,
    cause: &anyhow::Error,
) -> anyhow::Result<(&'static Module, Version)> {
    let (selector, host) = (&options.selector, Platform::host());
    let cause = cause.root_cause().to_string();
    let cause = cause.lines().next().unwrap_or_default();
    if !options.platform.matches(&host) {
        let platform = &options.platform;
        let text = format!("kbr builds only for this platform, {host}, not for {platform}");
        return Err(failure(text).details(cause).into());
    }
    let found = modules::find(|version| selector.versions.accepts_minor_of(version));
    let Some((module, version)) = found else {
        let minors = modules::minors();
        let text =
            format!("`{selector}` cannot be downloaded, and kbr builds only Kubernetes {minors}");
        let help = "pass one of these versions: kbr envtest use --or-build VERSION";
        return Err(failure(text).details(cause).help(help).into());
    };
    progress("unavailable", cause);
    let instead = format!("Kubernetes {version}, which kbr builds, for `{selector}`");
    progress("providing", &instead);
    Ok((module, version))
}

fn build_instead(store: &Store, module: &Module, version: Version) -> anyhow::Result<Provided> {
    let built = build::build(store, module, false)?;
    Ok(Provided {
        version: Some(version),
        platform: Platform::host(),
        sha512: None,
        folder: built.folder,
    })
}
