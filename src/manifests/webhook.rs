//! Webhook markers -> `MutatingWebhookConfiguration` and `ValidatingWebhookConfiguration`, as controller-gen makes them.

mod arguments;
mod configurations;
mod converted;
mod entry;
mod file;
mod object;
mod read;
mod rights;
mod served;

pub use file::{PATH, generate};

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
