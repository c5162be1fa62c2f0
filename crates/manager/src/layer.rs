//! Starts the log with a tracing layer of the author's.

use tracing_subscriber::{Layer, Registry};

use crate::{logs::start_with, options::Options};

/// Starts the log as [`Manager::new`](crate::Manager::new) does, with a layer of yours beside it: one that exports
/// spans to OpenTelemetry, for example. Call it before `Manager::new`, which then keeps this log.
///
/// The layer gets the spans and events of the level info and above, and those that `--log-level` enables. Each reconcile is
/// a span `reconcile` of the level info, with the fields `controller`, `kind`, `namespace`, `object` (its name) and `reconcile_id`; a failure is an
/// event of the level error in it. Combine several layers with [`Layer::and_then`].
///
/// ```
/// # use std::sync::atomic::{AtomicUsize, Ordering};
/// use manager::{
///     Manager, Options,
///     ext::tracing_subscriber::{Layer, Registry, layer::Context},
/// };
/// # use tracing::span;
///
/// /// Counts the spans. For OpenTelemetry it is `tracing_opentelemetry::layer().with_tracer(tracer)`.
/// #[derive(Default)]
/// struct Count(AtomicUsize);
///
/// impl Layer<Registry> for Count {
///     fn on_new_span(&self, _: &span::Attributes<'_>, _: &span::Id, _: Context<'_, Registry>) {
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
/// }
///
/// async fn run(options: Options) -> anyhow::Result<()> {
///     manager::init_tracing(&options, Count::default())?;
///     let mut manager = Manager::new(options, "captains.example.com").await?;
///     manager.run().await
/// }
/// ```
///
/// # Errors
/// If the log has been started before, or the flags have an invalid level.
pub fn init_tracing<L>(options: &Options, layer: L) -> anyhow::Result<()>
where
    L: Layer<Registry> + Send + Sync + 'static,
{
    let started = start_with(options.log_format, &options.log_level, Some(layer))?;
    anyhow::ensure!(
        started,
        "the log has been started before\n\
         help: call `init_tracing` once, before `Manager::new`"
    );
    Ok(())
}
