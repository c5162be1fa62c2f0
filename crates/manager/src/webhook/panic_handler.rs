//! Runs the user's code and catches its panics.

use super::rejection::Rejection;
use crate::panics::unwound;

/// Runs a webhook and turns a panic into a rejection. The values that it was changing are dropped.
pub(super) async fn guarded<T>(
    webhook: impl Future<Output = Result<T, Rejection>>,
) -> Result<T, Rejection> {
    let result = unwound(webhook).await;
    result.unwrap_or_else(|message| Err(Rejection::panicked(&message)))
}
