//! `kbr delete controller`.

use super::super::completion;
use super::super::kind::KindArgs;
use super::DeleteArgs;
use super::deletion::Deletion;
use super::tables::{self, command};
use kbr_host::diagnostic::Diagnostic;
use kbr_scaffold::project::{Project, Table};
use kbr_scaffold::resource::controller::Controller;

/// Remove a controller, but keep its kind
///
/// Select it by name, or by kind if the kind has only one controller.
///
///     kbr delete controller --controller-name captain
///     kbr delete controller --group apps --version v1 --kind Deployment
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Name of the controller
    #[arg(long, alias = "name", value_name = "NAME")]
    controller_name: Option<String>,
    /// API group of its kind, as for `kbr create`
    #[arg(long, add = completion::groups())]
    group: Option<String>,
    /// Version of its kind
    #[arg(long, add = completion::versions())]
    version: Option<String>,
    /// Its kind
    #[arg(long, add = completion::kinds())]
    kind: Option<String>,
    /// Domain of the group [default: the project's]
    #[arg(long)]
    domain: Option<String>,
    #[command(flatten)]
    pub write: DeleteArgs,
}

impl Args {
    /// The kind, if the flags select one.
    fn of(&self) -> Option<KindArgs> {
        Some(KindArgs {
            group: self.group.clone()?,
            version: self.version.clone()?,
            kind: self.kind.clone()?,
            domain: self.domain.clone(),
        })
    }
}

/// Resolves what the command removes.
///
/// # Errors
/// The controller does not exist, or the kind has several.
pub fn choose(args: &Args, project: &Project) -> anyhow::Result<Deletion> {
    let of = args.of();
    check_selection(args, of.is_some(), project)?;
    let by_name = |it: &&Controller| {
        args.controller_name
            .as_ref()
            .is_none_or(|name| *name == it.name)
    };
    let of_kind = |it: &&Controller| of.as_ref().is_none_or(|of| of.select(&it.target, project));
    let found: Vec<&Controller> = project
        .controllers()
        .filter(by_name)
        .filter(of_kind)
        .collect();
    let name = match found[..] {
        [only] => only.name.clone(),
        [] => return Err(missing(args, project).into()),
        _ => return Err(ambiguous(&found).into()),
    };
    let mut deletion = Deletion::of(project);
    deletion.change(|table| match table {
        Table::Controller(known) if known.name == name => None,
        _ => Some(table.clone()),
    });
    Ok(deletion)
}

/// The flags must select by name, by kind, or both; a part of a kind selects nothing.
fn check_selection(args: &Args, has_kind: bool, project: &Project) -> anyhow::Result<()> {
    let kind = [&args.group, &args.version, &args.kind, &args.domain];
    let has_part = kind.into_iter().any(Option::is_some);
    if has_kind || args.controller_name.is_some() && !has_part {
        return Ok(());
    }
    let text = if has_part {
        "a kind is selected by `--group`, `--version` and `--kind` together"
    } else {
        "no controller selected"
    };
    let error = Diagnostic::new(text)
        .help("pass `--controller-name`, or `--group`, `--version` and `--kind`")
        .help(known_controllers(project));
    Err(error.into())
}

fn known_controllers(project: &Project) -> String {
    let names = project
        .controllers()
        .map(|known| format!("`{}`", known.name));
    let names: Vec<String> = names.collect();
    if names.is_empty() {
        "the project has no controllers".to_owned()
    } else {
        format!("controllers in PROJECT: {}", names.join(", "))
    }
}

fn missing(args: &Args, project: &Project) -> Diagnostic {
    if let (Some(name), Some(of)) = (&args.controller_name, args.of())
        && let Some(known) = project.controllers().find(|it| it.name == *name)
    {
        return of_another_kind(known, &of, project);
    }
    match (&args.controller_name, args.of()) {
        (None, Some(of)) => tables::missing(&of, "controller", project),
        (name, _) => {
            let name = name.as_deref().unwrap_or_default();
            Diagnostic::new(format_args!("no controller `{name}` found in PROJECT"))
                .help(known_controllers(project))
        }
    }
}

/// The name and the kind select different controllers.
fn of_another_kind(known: &Controller, of: &KindArgs, project: &Project) -> Diagnostic {
    let delete = |it: &Controller| {
        format!(
            "to delete `{}`: `{}`",
            it.name,
            command(&Table::Controller(it.clone()))
        )
    };
    let target = &known.target;
    let text = format!(
        "the controller `{}` reconciles `{}` of `{}/{}`, not `{}` of `{}/{}`",
        known.name, target.kind, target.group, target.version, of.kind, of.group, of.version
    );
    let others = project
        .controllers()
        .filter(|it| of.select(&it.target, project));
    let error = Diagnostic::new(text).help(delete(known));
    others.fold(error, |error, it| error.help(delete(it)))
}

fn ambiguous(found: &[&Controller]) -> Diagnostic {
    let kind = &found[0].target.kind;
    let text = format!("`{kind}` has {} controllers", found.len());
    found.iter().fold(Diagnostic::new(text), |error, it| {
        let command = command(&Table::Controller((*it).clone()));
        error.help(format_args!("to delete `{}`: `{command}`", it.name))
    })
}
