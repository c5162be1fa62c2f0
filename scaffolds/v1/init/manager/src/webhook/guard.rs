//! Runs the user's code where a panic does no harm.

use std::any::Any;

use tokio::task::AbortHandle;
use tracing::Instrument as _;

use super::refusal::Refusal;

/// Runs a webhook in a task of its own: its panic becomes a refusal. It ends when this is dropped, as at a time-out.
pub(super) async fn guarded<T: Send + 'static>(
    webhook: impl Future<Output = Result<T, Refusal>> + Send + 'static,
) -> Result<T, Refusal> {
    let task = tokio::spawn(webhook.in_current_span());
    let _abort = AbortOnDrop(task.abort_handle());
    match task.await {
        Ok(result) => result,
        Err(error) => {
            let panic = error.try_into_panic();
            Err(Refusal::panicked(match &panic {
                Ok(payload) => message(&**payload),
                Err(_) => "cancelled",
            }))
        }
    }
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What a panic said.
pub(super) fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&'static str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message")
}
