//! The traits that the user implements for a kind: defaulting and validation.

use super::{rejection::Rejection, request::Request};

/// Warnings for the user whose request is allowed; `kubectl` prints them. Keep each under 120 characters.
pub type Warnings = Vec<String>;

/// Sets defaults in an object before it is validated and stored.
pub trait Defaulter<K>: Send + Sync + 'static {
    /// Changes `object` on create and update. It may be called more than once, so it must be idempotent.
    ///
    /// # Errors
    /// To reject the request, or if something failed.
    fn default(
        &self,
        object: &mut K,
        cx: &Request<K>,
    ) -> impl Future<Output = Result<(), Rejection>> + Send;
}

/// Accepts or rejects objects. Requests for which a method is not implemented are allowed.
pub trait Validator<K: Sync>: Send + Sync + 'static {
    /// Validates an object on create.
    ///
    /// It is also called for an update that repairs a stored object which `K` cannot read, because there is nothing to
    /// compare the new object with. The [operation](Request::operation) is an update then.
    ///
    /// # Errors
    /// To reject the request, or if something failed.
    fn validate_create(
        &self,
        object: &K,
        cx: &Request<K>,
    ) -> impl Future<Output = Result<Warnings, Rejection>> + Send {
        let _ = (object, cx);
        async { Ok(Warnings::new()) }
    }

    /// Validates an update of an object.
    ///
    /// It is not called if `K` can read the object neither before nor after, and only metadata changes: such an update
    /// is allowed.
    ///
    /// # Errors
    /// To reject the request, or if something failed.
    fn validate_update(
        &self,
        old: &K,
        new: &K,
        cx: &Request<K>,
    ) -> impl Future<Output = Result<Warnings, Rejection>> + Send {
        let _ = (old, new, cx);
        async { Ok(Warnings::new()) }
    }

    /// Validates the deletion of an object. It is called only if the webhook's marker has `delete` among its verbs, and
    /// if `K` can read the object: an unreadable object may always be deleted.
    ///
    /// # Errors
    /// To reject the request, or if something failed.
    fn validate_delete(
        &self,
        object: &K,
        cx: &Request<K>,
    ) -> impl Future<Output = Result<Warnings, Rejection>> + Send {
        let _ = (object, cx);
        async { Ok(Warnings::new()) }
    }
}
