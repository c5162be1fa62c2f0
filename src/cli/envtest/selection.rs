//! The arguments that the commands of setup-envtest share.

use std::env;

use super::StoreArgs;
use kbr_envtest::assets::Store;
use kbr_envtest::platform::{self, Platform};
use kbr_envtest::selector::Selector;
use kbr_envtest::{index, progress};

/// Which versions, for which platform, in which store.
#[derive(Debug, clap::Args)]
pub struct SelectionArgs {
    /// Version or selector: 1.37.2, 1.37, ~1.37.2, '<1.37', '<=1.37', latest or latest-on-disk; with `!` at the end, ask the index
    /// even if the store has a match
    #[arg(default_value = "latest", hide_default_value = true)]
    pub version: Selector,
    /// Operating system as Go calls it, or `*` [default: this machine's]
    #[arg(long, value_parser = platform::parse_word)]
    os: Option<String>,
    /// Architecture as Go calls it, or `*` [default: this machine's]
    #[arg(long, value_parser = platform::parse_word)]
    arch: Option<String>,
    /// `debug` and `info` also report the store and the index
    #[arg(
        short,
        long = "v",
        value_name = "LEVEL",
        value_enum,
        ignore_case = true,
        default_value = "warn"
    )]
    verbosity: Level,
    #[command(flatten)]
    store: StoreArgs,
}

/// How much to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

impl SelectionArgs {
    /// The platform that the flags select.
    pub fn platform(&self) -> Platform {
        let host = Platform::host();
        Platform {
            os: self.os.clone().unwrap_or(host.os),
            arch: self.arch.clone().unwrap_or(host.arch),
        }
    }

    /// The store that the flags select.
    pub fn store(&self, index: Option<&IndexArgs>) -> anyhow::Result<Store> {
        let store = Store::new(self.store.store.clone())?;
        if matches!(self.verbosity, Level::Debug | Level::Info) {
            progress("store", &store.root.display().to_string());
            if let Some(index) = index {
                progress("index", &index.index);
            }
        }
        Ok(store)
    }
}

/// The index, and whether to ask it.
#[derive(Debug, clap::Args)]
pub struct IndexArgs {
    /// URL of the index of binaries: https://, or http:// on this machine
    #[arg(long, value_name = "URL", default_value = index::DEFAULT_URL)]
    pub index: String,
    /// Look only at versions in the store; also if `ENVTEST_INSTALLED_ONLY` is set
    #[arg(short, long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    installed_only: Option<bool>,
}

impl IndexArgs {
    /// Whether the index must not be asked.
    pub fn installed_only(&self) -> bool {
        chosen_or_set(self.installed_only, "ENVTEST_INSTALLED_ONLY")
    }
}

/// The flag, otherwise whether the variable has any value: `false` is one, as in setup-envtest.
pub fn chosen_or_set(flag: Option<bool>, variable: &str) -> bool {
    flag.unwrap_or_else(|| env::var_os(variable).is_some_and(|value| !value.is_empty()))
}
