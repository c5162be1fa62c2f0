//! The alerts and the dashboard of a generated project: promtool accepts and tests them, and they use only series that exist.

mod dashboard;
mod project;
mod promql;
mod promtool;
mod rules;
mod series;
#[path = "../support/mod.rs"]
mod support;
