//! Runs the user's code where a panic does no harm.

use super::rejection::Rejection;
pub(super) use crate::error::panic_message as message;
use crate::error::unwound;

/// Runs a webhook: its panic becomes a rejection. What it was about to change is not looked at after that.
pub(super) async fn guarded<T>(
    webhook: impl Future<Output = Result<T, Rejection>>,
) -> Result<T, Rejection> {
    let result = unwound(webhook).await;
    result.unwrap_or_else(|message| Err(Rejection::panicked(&message)))
}
