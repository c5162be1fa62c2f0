//! What an operator's next release would change in a cluster: its objects are cloned, both releases run on the clone, and what the second
//! one changed is the plan.

mod activity;
pub mod anonymize;
pub mod cloned;
pub mod compare;
pub mod confine;
pub mod difference;
pub mod discovery;
pub mod file;
#[cfg(test)]
#[path = "../../../tests/fuzz/driver.rs"]
mod fuzz;
pub mod inside;
mod install;
mod load;
mod managers;
mod mask;
mod names;
mod pod;
pub mod read;
pub mod release;
pub mod report;
pub mod restore;
pub mod rollouts;
mod run;
pub mod secrets;
mod state;
pub mod text;
mod time;
pub mod wanted;
mod webhooks;
