//! Webhook markers -> `MutatingWebhookConfiguration` and `ValidatingWebhookConfiguration`, like controller-gen's.

mod arguments;
pub mod configurations;
pub mod converted;
pub mod entry;
mod object;
pub mod own_namespace;
pub mod permissions;
mod read;
pub mod served;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
