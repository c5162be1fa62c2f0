//! One table of PROJECT: the parameters of one command.

use serde::Serialize;

use crate::quote;
use crate::resource::Resource;
use crate::resource::controller::Controller;
use crate::resource::webhook::Webhook;

/// The resolved parameters of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Table {
    /// `[[api]]`: a version of an own kind.
    Api(Resource),
    /// `[[controller]]`
    Controller(Controller),
    /// `[[webhook]]`: webhooks of a version of a kind, or versions that are converted to it.
    Webhook(Webhook),
}

impl Table {
    /// The text for PROJECT, ended by a line feed.
    ///
    /// # Errors
    /// A value cannot be written as TOML.
    pub fn text(&self) -> anyhow::Result<String> {
        match self {
            Table::Api(api) => text("api", api, &api.path()),
            Table::Controller(controller) => text("controller", controller, &controller.path()),
            Table::Webhook(webhook) => text("webhook", webhook, &webhook.path()),
        }
    }

    /// Its keys and values, without `path`, which only readers of the file use.
    ///
    /// # Errors
    /// A value cannot be written as TOML.
    pub(super) fn fields(&self) -> Result<toml::Table, toml::ser::Error> {
        match self {
            Table::Api(api) => toml::Table::try_from(api),
            Table::Controller(controller) => toml::Table::try_from(controller),
            Table::Webhook(webhook) => toml::Table::try_from(webhook),
        }
    }

    /// Whether its code needs a crate that kbr's `Cargo.lock` does not have.
    pub fn is_external(&self) -> bool {
        match self {
            Table::Api(_) => false,
            Table::Controller(controller) => controller.target.is_external(),
            Table::Webhook(webhook) => webhook.target.is_external(),
        }
    }
}

fn text(table: &str, fields: &impl Serialize, path: &str) -> anyhow::Result<String> {
    let fields = toml::to_string(fields)?;
    Ok(format!(
        "[[{table}]]\n{fields}path = {}\n",
        quote::toml(path)
    ))
}
