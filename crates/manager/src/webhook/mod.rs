//! Webhooks: functions that the API server calls before it stores an object.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use manager::{
//!     Manager,
//!     webhook::{Defaulter, FieldError, FieldErrors, Rejection, Request, Validator, Warnings},
//! };
//!
//! struct ConfigMapWebhook;
//!
//! impl Defaulter<ConfigMap> for ConfigMapWebhook {
//!     async fn default(&self, map: &mut ConfigMap, _cx: &Request<ConfigMap>) -> Result<(), Rejection> {
//!         map.immutable.get_or_insert(false);
//!         Ok(())
//!     }
//! }
//!
//! impl Validator<ConfigMap> for ConfigMapWebhook {
//!     async fn validate_create(&self, map: &ConfigMap, _cx: &Request<ConfigMap>) -> Result<Warnings, Rejection> {
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
//! A kind can have several validators and defaulters, each at its own path and with its own marker
//! ([`validator_at`](crate::Manager::validator_at)); the API server calls all of them. A webhook for a subresource or a
//! connection gets the request as it is ([`admission_at`](crate::Manager::admission_at)).
//!
//! Every replica serves them over TLS, at one path for each kind and version: `/mutate-crew-example-com-v1-captain` and
//! `/validate-crew-example-com-v1-captain`. If a webhook panics, the request is rejected. If it does not answer in
//! time, the answer is HTTP 504, and `failurePolicy` decides.

pub(crate) mod admission;
pub(crate) mod convert;
mod copy;
mod field;
pub(crate) mod patch;
pub(crate) mod raw;
mod read;
mod rejection;
mod reply;
mod request;
mod review;
mod serve;
mod text;
mod traits;
mod turn;
mod versions;

pub use crate::servers::access_reviews::User;

pub use self::{
    field::{FieldError, FieldErrors},
    raw::AdmissionRequest,
    rejection::Rejection,
    reply::Allowed,
    request::{Operation, Request},
    traits::{Defaulter, Validator, Warnings},
};
pub(crate) use self::{
    review::GroupVersionKind,
    serve::{CONVERT, Call, Callers, Registered, Task, Webhook, Webhooks, handler},
    turn::Turns,
    versions::Conversions,
};
