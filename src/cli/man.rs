//! `kbr man`: the help as manual pages.

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_mangen::Man;

use super::Cli;
use kbr_host::diagnostic::Diagnostic;
use kbr_host::output;
use kbr_scaffold::project::KBR;

/// Print a manual page
///
/// To read the page of `kbr create api`:
///
///     kbr man create api | man -l -
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Command to describe [default: kbr itself]
    command: Vec<String>,
    /// List the commands that have a page, instead of printing one
    #[arg(long, conflicts_with = "command")]
    list: bool,
}

/// Runs `kbr man`.
///
/// # Errors
/// There is no such command, or standard output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut root = Cli::command();
    // Fills in the full names of subcommands.
    root.build();
    if args.list {
        return output::data(&names(&root));
    }
    let mut page = Vec::new();
    let command = find(&root, &args.command)?;
    let name = command.get_bin_name().unwrap_or("kbr");
    Man::new(command.clone())
        .title(name.replace(' ', "-").to_uppercase())
        .source(format!("kbr {KBR}"))
        .manual("kbr")
        .render(&mut page)
        .context("cannot render the page")?;
    let page = String::from_utf8(page).context("cannot render the page")?;
    output::data(&with_usage(&page, &mut command.clone()))
}

/// The page with the usage of the help as its synopsis: clap's own puts optional flags before those that are required.
fn with_usage(page: &str, command: &mut clap::Command) -> String {
    const HEADING: &str = ".SH SYNOPSIS\n";
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").replace('-', "\\-");
    let Some((before, rest)) = page.split_once(HEADING) else {
        return page.to_owned();
    };
    let rest = rest.find(".SH ").map_or("", |end| &rest[end..]);
    format!("{before}{HEADING}{usage}\n{rest}")
}

fn find<'a>(root: &'a clap::Command, words: &[String]) -> anyhow::Result<&'a clap::Command> {
    words.iter().try_fold(root, |command, word| {
        let found = command.find_subcommand(word);
        found.ok_or_else(|| {
            Diagnostic::new(format_args!("kbr has no command `{}`", words.join(" ")))
                .help("`kbr man --list` lists the commands")
                .into()
        })
    })
}

/// `create api` and the like, a line each.
fn names(command: &clap::Command) -> String {
    let subcommands = command
        .get_subcommands()
        .filter(|it| it.get_name() != "help" && !it.is_hide_set());
    subcommands.fold(String::new(), |all, subcommand| {
        let name = subcommand.get_bin_name().unwrap_or_default();
        let name = name.strip_prefix("kbr ").unwrap_or(name);
        format!("{all}{name}\n{}", names(subcommand))
    })
}
