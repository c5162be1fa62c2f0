//! The flags that select a kind, which a CRD replaces.

use std::ops::Deref;

use clap::builder::ArgPredicate;
use clap::{Arg, ArgMatches, Command};

use super::super::existing::ExistingArgs;

/// [`ExistingArgs`], of which group, version and kind are empty with `--from-crd`.
#[derive(Debug)]
pub struct SelectedArgs(ExistingArgs);

impl Deref for SelectedArgs {
    type Target = ExistingArgs;

    fn deref(&self) -> &ExistingArgs {
        &self.0
    }
}

impl clap::FromArgMatches for SelectedArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        ExistingArgs::from_arg_matches(matches).map(SelectedArgs)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl clap::Args for SelectedArgs {
    fn augment_args(command: Command) -> Command {
        // With `--external`, the types have known paths, so that a crate needs none.
        let derived = |arg: Arg| arg.conflicts_with("external");
        optional(ExistingArgs::augment_args(command)).mut_arg("external_type", derived)
    }

    fn augment_args_for_update(command: Command) -> Command {
        optional(ExistingArgs::augment_args_for_update(command))
    }
}

/// Group, version and kind are required unless a CRD says them.
fn optional(command: Command) -> Command {
    ["group", "version", "kind"]
        .into_iter()
        .fold(command, |command, name| {
            command.mut_arg(name, |arg| {
                arg.required(false)
                    .required_unless_present("from_crd")
                    .default_value_if("from_crd", ArgPredicate::IsPresent, Some(""))
            })
        })
}
