//! A Kubernetes API server in memory, for tests of any controller or client that uses [kube](https://docs.rs/kube).
//!
//! ```
//! use apiserver_fake::ApiServer;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::{Api, api::PostParams};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ApiServer::new();
//! let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
//! let map = serde_json::from_value(json!({ "metadata": { "name": "a" }, "data": { "b": "c" } }))?;
//! maps.create(&PostParams::default(), &map).await?;
//! let stored: ConfigMap = server.get("default", "a").expect("it was created");
//! assert!(stored.metadata.uid.is_some());
//! # Ok(())
//! # }
//! ```
//!
//! | To | Use |
//! |---|---|
//! | set, change, read and delete objects as the user of the cluster | [`ApiServer::put`], [`edit`](ApiServer::edit), [`get`](ApiServer::get), [`all`](ApiServer::all), [`delete`](ApiServer::delete) |
//! | have custom resources validated, defaulted and pruned | [`ApiServer::define`] with their definition |
//! | inject faults | a layer of tower around [`ApiServer::connection`]; [`ApiServer::cut_off`] |
//! | have webhooks review what clients write | [`ApiServer::review_by`] |
//! | convert between versions | [`ApiServer::convert_by`] |
//!
//! Its answers are compared with those of kube-apiserver, request by request.

// In a project this crate is a path dependency, and cargo does not cap the lints of those: a newer compiler could
// print new warnings. Only kbr itself runs clippy on it, with all lints.
#![cfg_attr(not(clippy), allow(warnings))]

mod api;
mod content;
mod conversion;
mod edit;
#[allow(missing_docs, clippy::result_unit_err, reason = "for kbr-testing")]
mod gate;
mod query;
#[cfg(test)]
#[allow(dead_code, reason = "kbr-testing uses the rest")]
#[path = "../../testing/src/random.rs"]
mod random;
#[allow(missing_docs, reason = "for kbr-testing, but what `pub use` names")]
mod review;
#[allow(missing_docs, reason = "for kbr-testing, but what `pub use` names")]
mod reviews;
#[allow(
    missing_docs,
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    reason = "for kbr-testing"
)]
mod server;
#[allow(missing_docs, reason = "for kbr-testing")]
mod unevaluated;

pub use self::{
    api::{ApiServer, Connection},
    content::Content,
    conversion::{Conversions, Converted},
    review::{Admitted, review},
    reviews::{Hook, HookAnswer, Hooks},
};

/// What kbr-testing needs of the server: no promise to anyone else.
#[doc(hidden)]
pub mod internals {
    pub use crate::{
        api::{BOOKMARKS, LAST_BOOKMARK, path},
        content::{Content, line, response},
        conversion::Conversions,
        gate::{Decided, Gate},
        query::parameters,
        review::Question,
        reviews::{Configured, OPERATOR, Reviewers, USER, Webhooks},
        server::{
            Answer, Call, Change, ErrorResponse, Kinds, Objects, Path, Reviewed, Watch, json_patch,
            schema::Rules,
        },
        unevaluated::Unevaluated,
    };
}
