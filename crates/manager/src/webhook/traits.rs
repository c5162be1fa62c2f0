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
    /// Also at one that repairs a stored object which `K` cannot read, so that there is nothing to compare it with:
    /// the [operation](Request::operation) is an update then.
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
    /// Not at one that `K` cannot read before and after, if only metadata is changed: it is admitted.
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

    /// Looks at an object that is to be deleted. Asked only if the webhook's marker has `delete` among its verbs, and
    /// if `K` can read the object: one that it cannot read may be deleted.
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
