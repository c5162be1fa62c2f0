//! The HTTP servers of the operator: probes, metrics, and the parts that they share with webhooks.

pub(crate) mod access_reviews;
pub(crate) mod body;
pub(crate) mod check;
pub(crate) mod client_ca;
pub(crate) mod connections;
pub(crate) mod handlers;
pub(crate) mod http;
pub(crate) mod metrics_server;
pub(crate) mod probe_server;
pub(crate) mod probes;
pub(crate) mod room;
pub(crate) mod stall_detector;
pub(crate) mod tls;
