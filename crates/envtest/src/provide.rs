//! `kbr envtest use`: finds the version that a selector asks for, and downloads or builds it if the store lacks it.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::assets::{self, Store};
use super::http::Unavailable;
use super::index::{self, PublishedArchive, PublishedArchives};
use super::install;
use super::installed::{self, InstalledVersion};
use super::platform::{self, Platform};
use super::selector::{Lookup, Selector, Version};
use super::work::WorkFolder;
use super::{download, progress};
use kbr_host::diagnostic::Diagnostic;
use kbr_host::regular;

/// Begins each error after which the store is as before.
pub const UNCHANGED: &str = "the store is unchanged";

/// What to provide, and how.
#[derive(Debug)]
pub struct Options {
    /// The versions that are wanted.
    pub selector: Selector,
    /// The platforms that are wanted.
    pub platform: Platform,
    /// URL of the index.
    pub index: String,
    /// Never asks the index.
    pub installed_only: bool,
    /// Downloads a version again that is there.
    pub force: bool,
    /// Compares the checksum of the archive.
    pub verify: bool,
}

/// A version that is in the store now.
#[derive(Debug)]
pub struct Provided {
    /// None for a folder of the user's without a version in its name.
    pub version: Option<Version>,
    /// What its programs run on.
    pub platform: Platform,
    /// SHA-512 of the archive, if the index was read.
    pub sha512: Option<String>,
    /// Where its programs are.
    pub folder: PathBuf,
}

impl Provided {
    /// A version of the store.
    pub fn installed(found: InstalledVersion, sha512: Option<String>) -> Self {
        Provided {
            version: Some(found.version),
            platform: found.platform,
            sha512,
            folder: found.folder,
        }
    }
}

/// The folder in `KUBEBUILDER_ASSETS`, if it is set and has all programs.
pub fn set_by_user() -> Option<Provided> {
    let folder = assets::set_by_user()?;
    let name = folder.file_name().and_then(|name| name.to_str());
    let (version, platform) = match name.and_then(platform::parse_folder_name) {
        Some((version, platform)) => (Some(version), platform),
        None => (None, Platform::any()),
    };
    let programs = if version.is_some() {
        platform.programs()
    } else {
        Platform::host().programs()
    };
    programs
        .iter()
        .all(|name| folder.join(name).is_file())
        .then_some(Provided {
            version,
            platform,
            sha512: None,
            folder,
        })
}

/// Provides the version that `options` ask for.
///
/// # Errors
/// The options contradict each other, no version matches, or what was downloaded is wrong; the store is then unchanged.
pub fn provide(store: &Store, options: &Options) -> anyhow::Result<Provided> {
    installed_or_downloaded(store, options).context(UNCHANGED)
}

fn installed_or_downloaded(store: &Store, options: &Options) -> anyhow::Result<Provided> {
    if options.force && installed_only(options) {
        let text =
            "--force downloads, but -i, ENVTEST_INSTALLED_ONLY and latest-on-disk forbid downloads";
        return Err(failure(text).help("leave one of them out").into());
    }
    let mut index = LazyIndex {
        url: &options.index,
        archives: None,
    };
    let chosen = choose(store, options, &mut index)?;
    if !options.force && chosen.is_complete() {
        let archive = index
            .archives
            .as_ref()
            .and_then(|all| all.of(chosen.version, &chosen.platform));
        let sha512 = archive.map(|archive| archive.sha512.clone());
        return Ok(Provided::installed(chosen, sha512));
    }
    if installed_only(options) {
        return Err(not_installed(options).into());
    }
    let archive = index.read()?.of(chosen.version, &chosen.platform);
    let archive = archive.ok_or_else(|| not_published(options))?.clone();
    add_published(store, options, &archive, &chosen)?;
    Ok(Provided::installed(
        chosen,
        options.verify.then_some(archive.sha512),
    ))
}

/// The index, which is downloaded at most once.
struct LazyIndex<'a> {
    url: &'a str,
    archives: Option<PublishedArchives>,
}

impl LazyIndex<'_> {
    fn read(&mut self) -> anyhow::Result<&PublishedArchives> {
        if self.archives.is_none() {
            self.archives = Some(published(self.url)?);
        }
        self.archives.as_ref().context("the index was just read")
    }
}

/// The archives in the index at `url`.
///
/// # Errors
/// [`Unavailable`], or the index is wrong.
pub fn published(url: &str) -> anyhow::Result<PublishedArchives> {
    index::parse(&download::text(url)?, url)
}

fn installed_only(options: &Options) -> bool {
    options.installed_only || options.selector.lookup == Lookup::StoreOnly
}

/// The version to use, in the order of setup-envtest: one that matches in the store is enough, unless the selector asks for the newest
/// in the index; even then, a newer one in the store stays.
fn choose(
    store: &Store,
    options: &Options,
    index: &mut LazyIndex,
) -> anyhow::Result<InstalledVersion> {
    let (selector, platform) = (&options.selector, &options.platform);
    if let Some(version) = selector.versions.only() {
        if !platform.is_concrete() {
            return Err(
                failure(format_args!("`{platform}` matches more than one platform"))
                    .help("pass --os and --arch without `*`")
                    .into(),
            );
        }
        return Ok(installed::at(store, version, platform));
    }
    let installed = installed::list(store, selector, platform)?;
    let installed = installed.into_iter().find(InstalledVersion::is_complete);
    let asks_index = selector.lookup == Lookup::Index && !installed_only(options);
    match installed {
        Some(installed) if !asks_index => return Ok(installed),
        None if installed_only(options) => return Err(not_installed(options).into()),
        _ => {}
    }
    let mut archives = index.read()?.matching(selector, platform);
    let newest = archives.next().ok_or_else(|| not_published(options))?;
    match installed {
        Some(installed) if !options.force && installed.version > newest.version => Ok(installed),
        _ => Ok(installed::at(store, newest.version, &newest.platform)),
    }
}

fn add_published(
    store: &Store,
    options: &Options,
    archive: &PublishedArchive,
    version: &InstalledVersion,
) -> anyhow::Result<()> {
    let work = WorkFolder::lock(store)?;
    if !options.force && version.is_complete() {
        return Ok(());
    }
    let name = platform::folder_name(archive.version, &archive.platform);
    let file = work.path(&format!("{name}-{}.partial", &archive.sha512[..16]));
    progress("downloading", &archive.url);
    if options.verify {
        download::archive(archive, &file)?;
    } else {
        download::unverified(archive, &file)?;
    }
    let added = add_file(version, &work, &file, &archive.url);
    std::fs::remove_file(&file).with_context(|| format!("cannot remove `{}`", file.display()))?;
    added
}

fn add_file(
    version: &InstalledVersion,
    work: &WorkFolder,
    file: &Path,
    url: &str,
) -> anyhow::Result<()> {
    let open = regular::open(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    install::add(version, work, open, &format!("`{url}`"))
}

fn not_installed(options: &Options) -> Unavailable {
    let (selector, platform) = (&options.selector, &options.platform);
    Unavailable(
        failure(format_args!("no version in the store matches `{selector}` for {platform}"))
            .help("run kbr envtest list -i to list installed versions, or run without -i and ENVTEST_INSTALLED_ONLY to download one"),
    )
}

fn not_published(options: &Options) -> Unavailable {
    let (selector, platform) = (&options.selector, &options.platform);
    Unavailable(
        failure(format_args!(
            "no version in the index matches `{selector}` for {platform}"
        ))
        .help("run kbr envtest list to list available versions"),
    )
}

/// A diagnostic of what never changes the store.
pub fn failure(text: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(text)
}
