//! Structured logs by tracing.

use std::io::IsTerminal;

use anyhow::Context as _;
use clap::ValueEnum;
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

/// Logs to standard error from now on. `None`: text on a terminal, JSON otherwise.
///
/// Where logging was set up before, by a test or by the operator itself, that stays.
pub(crate) fn start(format: Option<LogFormat>, level: &str) -> anyhow::Result<()> {
    let filter = filter(level)?;
    let terminal = std::io::stderr().is_terminal();
    let default = if terminal {
        LogFormat::Text
    } else {
        LogFormat::Json
    };
    let registry = tracing_subscriber::registry().with(filter);
    let layer = fmt::layer().with_writer(std::io::stderr);
    let _ = match format.unwrap_or(default) {
        LogFormat::Text => registry.with(layer.with_ansi(terminal)).try_init(),
        LogFormat::Json => registry
            .with(layer.json().flatten_event(true).with_span_list(false))
            .try_init(),
    };
    Ok(())
}

/// What failed in kube's client, its caller logs; so it need not, unless asked to.
const QUIET: &str = "kube_client::client::builder";

fn filter(level: &str) -> anyhow::Result<Targets> {
    let filter = parse(level)?;
    if level.contains("kube") {
        return Ok(filter);
    }
    Ok(filter.with_target(QUIET, LevelFilter::OFF))
}

fn parse(level: &str) -> anyhow::Result<Targets> {
    level.parse().with_context(|| {
        format!(
            "`{level}` is no log level\n\
             help: write `info`, `debug`, or for each crate its own: `info,kube=debug`"
        )
    })
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn levels_are_set_for_all_or_for_a_crate() {
        let found = filter("info,kube=debug,hyper=off").unwrap();
        assert!(found.would_enable("captains", &Level::INFO));
        assert!(!found.would_enable("captains", &Level::DEBUG));
        assert!(found.would_enable("kube::client", &Level::DEBUG));
        assert!(!found.would_enable("hyper", &Level::ERROR));
    }

    #[test]
    fn errors_of_the_client_are_logged_by_its_callers_only_unless_asked_for() {
        assert!(!filter("info").unwrap().would_enable(QUIET, &Level::ERROR));
        let found = filter("info,kube_client=debug").unwrap();
        assert!(found.would_enable(QUIET, &Level::DEBUG));
    }

    #[test]
    fn nonsense_is_refused_with_what_to_write() {
        let error = filter("captains=loud").unwrap_err().to_string();
        assert!(error.contains("help: write `info`"), "{error}");
    }
}
