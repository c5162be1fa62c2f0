//! Structured logs by tracing, including panics and the last error.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    io::IsTerminal,
    panic,
    process::ExitCode,
    sync::OnceLock,
};

use anyhow::Context as _;
use tracing::Level;
use tracing_subscriber::{
    Layer, Registry,
    filter::{FilterExt as _, LevelFilter, Targets},
    fmt,
    layer::{Filter, Identity, SubscriberExt as _},
    util::SubscriberInitExt as _,
};

use crate::{
    error::{chain, help},
    panics,
};

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

/// Whether errors are logged as JSON, once [`start`] has configured the log.
static JSON_ERRORS: OnceLock<bool> = OnceLock::new();

/// Ends `main`: logs an error like every other line, and returns exit code 1 for it.
///
/// If `main` returned the error itself, it would be printed as plain text, which a reader of JSON logs cannot parse.
///
/// ```no_run
/// # use std::process::ExitCode;
/// # use manager::{Manager, Options};
/// #[tokio::main]
/// async fn main() -> ExitCode {
///     manager::exit(run(Options::default()).await)
/// }
///
/// async fn run(options: Options) -> anyhow::Result<()> {
///     let mut manager = Manager::new(options, "captains.example.com").await?;
///     manager.run().await
/// }
/// ```
pub fn exit(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    if JSON_ERRORS.get() == Some(&true) {
        tracing::error!(error = chain(error.as_ref()), "the operator failed");
    } else {
        eprintln!("Error: {error:?}");
        if let Some(help) = help(error.as_ref()) {
            eprintln!("{help}");
        }
    }
    ExitCode::FAILURE
}

/// Starts logging to standard error. `None` selects text on a terminal, and JSON otherwise.
///
/// If a test or the operator itself has configured logging before, that is kept.
pub(crate) fn start(format: Option<LogFormat>, level: &str) -> anyhow::Result<()> {
    start_with(format, level, None::<Identity>).map(drop)
}

/// Starts logging, with a layer beside it; returns whether it had not been started before.
pub(crate) fn start_with<L>(
    format: Option<LogFormat>,
    level: &str,
    layer: Option<L>,
) -> anyhow::Result<bool>
where
    L: Layer<Registry> + Send + Sync + 'static,
{
    let (logged, traced) = (filter(level)?, traced(level)?);
    let terminal = std::io::stderr().is_terminal();
    let default = if terminal {
        LogFormat::Text
    } else {
        LogFormat::Json
    };
    let format = format.unwrap_or(default);
    let json_errors = format == LogFormat::Json && logs_errors(&logged);
    let registry = tracing_subscriber::registry().with(layer.map(|it| it.with_filter(traced)));
    let lines = fmt::layer().with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => registry
            .with(lines.with_ansi(terminal).with_filter(logged))
            .try_init(),
        LogFormat::Json => {
            let lines = lines.json().flatten_event(true).with_span_list(false);
            registry.with(lines.with_filter(logged)).try_init()
        }
    };
    if started.is_ok() {
        JSON_ERRORS.get_or_init(|| json_errors);
    }
    Ok(started.is_ok())
}

/// Whether this module's errors are logged: levels may be set for some crates only.
fn logs_errors(filter: &Targets) -> bool {
    filter.would_enable(module_path!(), &Level::ERROR)
}

/// Logs panics from now on if the log is JSON, with a backtrace if `RUST_BACKTRACE` enables one.
pub(crate) fn log_panics() {
    if JSON_ERRORS.get() != Some(&true) {
        return;
    }
    panic::set_hook(Box::new(move |panic| {
        let backtrace = Backtrace::capture();
        let captured = backtrace.status() == BacktraceStatus::Captured;
        tracing::error!(
            error = panics::message(panic.payload()),
            location = panic.location().map(tracing::field::display),
            thread = std::thread::current().name(),
            backtrace = captured.then(|| tracing::field::display(&backtrace)),
            "panicked"
        );
    }));
}

/// Failures in kube's client or watches are also logged by their callers, so these targets are quiet by default. The
/// client would log whole responses that it cannot parse, including Secrets.
const QUIET: [&str; 2] = ["kube_client::client", "kube_runtime::watcher"];

/// The target of the spans that name an object: no line has it, so they can be enabled at every level.
pub(crate) const SPANS: &str = "manager::object";

/// The lines of `level`, and the spans that they are in.
pub(crate) fn filter(level: &str) -> anyhow::Result<Targets> {
    let filter = parse(level)?.with_target(SPANS, LevelFilter::ERROR);
    if level.contains("kube") {
        return Ok(filter);
    }
    Ok(filter.with_targets(QUIET.map(|target| (target, LevelFilter::OFF))))
}

/// What a layer of the author's gets: all from `info` on, also if the log has less, and what the log has.
///
/// Not everything: a layer would export the requests of its own exporter, which are logged as `debug` and `trace`.
fn traced<S>(level: &str) -> anyhow::Result<impl Filter<S> + use<S>> {
    Ok(filter("info")?.or(filter(level)?))
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
    use std::sync::{Arc, Mutex};

    use tracing::{Event, Subscriber};
    use tracing_subscriber::layer::Context;

    use super::*;

    #[test]
    fn log_levels_apply_to_all_crates_or_to_one() {
        let found = filter("info,kube=debug,hyper=off").unwrap();
        assert!(found.would_enable("captains", &Level::INFO));
        assert!(!found.would_enable("captains", &Level::DEBUG));
        assert!(found.would_enable("kube::client", &Level::DEBUG));
        assert!(!found.would_enable("hyper", &Level::ERROR));
    }

    #[test]
    fn error_logs_of_the_kube_client_are_off_unless_requested() {
        let found = filter("info").unwrap();
        for target in QUIET {
            assert!(!found.would_enable(target, &Level::ERROR), "{target}");
        }
        let found = filter("info,kube_client=debug").unwrap();
        assert!(found.would_enable("kube_client::client::builder", &Level::DEBUG));
    }

    #[test]
    fn a_layer_gets_what_the_log_has_and_all_from_info_on() {
        struct Seen(Arc<Mutex<Vec<String>>>);
        impl<S: Subscriber> Layer<S> for Seen {
            fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
                let metadata = event.metadata();
                let line = format!("{} {}", metadata.target(), metadata.level());
                self.0.lock().unwrap().push(line);
            }
        }
        let seen = Arc::default();
        let layer = Seen(Arc::clone(&seen)).with_filter(traced("error,a=debug").unwrap());
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, || {
            tracing::debug!(target: "a", "seen");
            tracing::trace!(target: "a", "not seen");
            tracing::info!(target: "b", "seen");
            tracing::debug!(target: "b", "not seen");
            tracing::event!(target: "kube_client::client", Level::ERROR, "not seen");
        });
        assert_eq!(*seen.lock().unwrap(), ["a DEBUG", "b INFO"]);
    }

    #[test]
    fn an_invalid_log_level_is_rejected_with_a_valid_one() {
        let error = filter("captains=loud").unwrap_err().to_string();
        assert!(error.contains("help: write `info`"), "{error}");
    }
}
