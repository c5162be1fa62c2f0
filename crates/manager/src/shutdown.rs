//! Signals.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancels `stop` on SIGTERM or SIGINT; a second signal ends the process at once.
pub(crate) fn on_signal(stop: CancellationToken) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        let signal = next(&mut terminate, &mut interrupt).await;
        tracing::info!(signal, "shutting down");
        stop.cancel();
        let signal = next(&mut terminate, &mut interrupt).await;
        tracing::warn!(signal, "ending at once");
        // A user who sends a second signal does not want to wait any longer.
        std::process::exit(1);
    });
    Ok(())
}

async fn next(terminate: &mut Signal, interrupt: &mut Signal) -> &'static str {
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}
