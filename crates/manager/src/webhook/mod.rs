//! Webhooks: what the API server asks before it stores an object.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use manager::{
//!     Manager,
//!     webhook::{Defaulter, FieldError, FieldErrors, Refusal, Request, Validator, Warnings},
//! };
//!
//! struct ConfigMapWebhook;
//!
//! impl Defaulter<ConfigMap> for ConfigMapWebhook {
//!     async fn default(&self, map: &mut ConfigMap, _cx: &Request<ConfigMap>) -> Result<(), Refusal> {
//!         map.immutable.get_or_insert(false);
//!         Ok(())
//!     }
//! }
//!
//! impl Validator<ConfigMap> for ConfigMapWebhook {
//!     async fn validate_create(&self, map: &ConfigMap, _cx: &Request<ConfigMap>) -> Result<Warnings, Refusal> {
//!         let mut errors = FieldErrors::default();
//!         if map.data.is_none() {
//!             errors.push(FieldError::required("data", "there is nothing in it"));
//!         }
//!         errors.check()?;
//!         Ok(Warnings::new())
//!     }
//! }
//!
//! fn register(manager: &mut Manager) {
//!     manager.defaulter::<ConfigMap>(ConfigMapWebhook);
//!     manager.validator::<ConfigMap>(ConfigMapWebhook);
//! }
//! ```
//!
//! They are served over TLS in every replica, one path a kind and version: `/mutate-crew-example-com-v1-captain` and
//! `/validate-crew-example-com-v1-captain`. What the user's code does not answer in time, or panics at, is refused.

mod admission;
mod convert;
mod copy;
mod field;
mod panic_handler;
mod patch;
mod register;
mod rejection;
mod request;
mod review;
mod serve;
mod start;

pub(crate) use self::{
    convert::Conversions,
    serve::{Webhooks, handler},
};
pub use self::{
    field::{FieldError, FieldErrors},
    rejection::Refusal,
    request::{Operation, Request, User},
};
#[cfg(any(test, feature = "testing"))]
pub(crate) use self::{
    review::GroupVersionKind,
    serve::{Registered, Task},
};

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
    ) -> impl Future<Output = Result<(), Refusal>> + Send;
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
    ) -> impl Future<Output = Result<Warnings, Refusal>> + Send {
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
    ) -> impl Future<Output = Result<Warnings, Refusal>> + Send {
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
    ) -> impl Future<Output = Result<Warnings, Refusal>> + Send {
        let _ = (object, cx);
        async { Ok(Warnings::new()) }
    }
}
