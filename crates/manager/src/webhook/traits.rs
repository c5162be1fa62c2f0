//! What the user implements for a kind: its defaults and its validation.

use super::{rejection::Rejection, request::Request};

/// What the user is told about a request that is allowed; `kubectl` prints them. Best under 120 characters each.
pub type Warnings = Vec<String>;

/// Fills in what an object leaves out, before it is validated and stored.
pub trait Defaulter<K>: Send + Sync + 'static {
    /// Changes `object` as it is made or changed. May be called more than once, so what is set stays as it is.
    ///
    /// # Errors
    /// Why the request is refused, or what failed.
    fn default(
        &self,
        object: &mut K,
        cx: &Request<K>,
    ) -> impl Future<Output = Result<(), Rejection>> + Send;
}

/// Accepts or refuses objects. What it does not look at is allowed.
pub trait Validator<K: Sync>: Send + Sync + 'static {
    /// Looks at an object that is to be made.
    ///
    /// # Errors
    /// Why the request is refused, or what failed.
    fn validate_create(
        &self,
        object: &K,
        cx: &Request<K>,
    ) -> impl Future<Output = Result<Warnings, Rejection>> + Send {
        let _ = (object, cx);
        async { Ok(Warnings::new()) }
    }

    /// Looks at an object that is to be changed.
    ///
    /// # Errors
    /// Why the request is refused, or what failed.
    fn validate_update(
        &self,
        old: &K,
        new: &K,
        cx: &Request<K>,
    ) -> impl Future<Output = Result<Warnings, Rejection>> + Send {
        let _ = (old, new, cx);
        async { Ok(Warnings::new()) }
    }

    /// Looks at an object that is to be deleted. Asked only if the webhook's marker has `delete` among its verbs.
    ///
    /// # Errors
    /// Why the request is refused, or what failed.
    fn validate_delete(
        &self,
        object: &K,
        cx: &Request<K>,
    ) -> impl Future<Output = Result<Warnings, Rejection>> + Send {
        let _ = (object, cx);
        async { Ok(Warnings::new()) }
    }
}
