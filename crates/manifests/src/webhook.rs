//! Webhook markers -> `MutatingWebhookConfiguration` and `ValidatingWebhookConfiguration`, like controller-gen's.

mod arguments;
mod configurations;
mod converted;
mod entry;
mod file;
mod object;
mod own_namespace;
mod permissions;
mod read;
mod served;

pub use file::{PATH, generate};

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
