//! Serves the probes on their own thread and runtime, so that they are answered when the main runtime stalls.

use std::{sync::Arc, thread};

use anyhow::Context as _;
use tokio::{
    net::TcpListener,
    runtime::{Builder, Handle},
    sync::oneshot,
};
use tokio_util::sync::CancellationToken;

use crate::servers::{http::Server, probes::Health};

/// Starts the server, which serves until `stop`. The returned future waits for its end.
pub(crate) fn start(
    listener: TcpListener,
    health: &Health,
    stop: CancellationToken,
) -> anyhow::Result<impl Future<Output = anyhow::Result<()>> + Send + 'static> {
    tokio::spawn({
        let (stall_detector, stop) = (health.stall_detector(), stop.clone());
        async move { stop.run_until_cancelled(stall_detector.beat()).await }
    });
    let listener = listener.into_std().context("cannot serve health probes")?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (ended, end) = oneshot::channel();
    // The author's async checks use connections that belong to the main runtime.
    let (health, main) = (health.clone(), Handle::current());
    let thread = thread::Builder::new().name("probes".to_owned());
    thread.spawn(move || {
        let served = runtime.block_on(async {
            let listener = TcpListener::from_std(listener).context("cannot serve health probes")?;
            serve(listener, &health, main, stop).await;
            Ok(())
        });
        // The receiver is gone if the manager has ended.
        let _ = ended.send(served);
    })?;
    Ok(async { end.await.context("the server of health probes panicked")? })
}

async fn serve(listener: TcpListener, health: &Health, main: Handle, stop: CancellationToken) {
    let stall_detector = health.stall_detector();
    let health = health.clone();
    let server = Server {
        listener,
        tls: None,
        handler: Arc::new(move |request| {
            let (health, main, parts) = (health.clone(), main.clone(), request.into_parts());
            Box::pin(async move { health.answer(parts, &main).await.into() })
        }),
    };
    tokio::select! {
        () = server.run(stop) => {}
        () = stall_detector.watch() => {}
    }
}
