//! Tables of PROJECT in the messages of `kbr delete`.

use super::super::kind::KindArgs;
use kbr_host::diagnostic::Diagnostic;
use kbr_scaffold::project::{Project, Table};
use kbr_scaffold::resource::target::Target;

/// The error if PROJECT has no such table; `what` is the type as in messages: `controller`. It names the tables of that type, and those of other types
/// for this kind.
pub fn missing(args: &KindArgs, what: &str, project: &Project) -> Diagnostic {
    let KindArgs {
        group,
        version,
        kind,
        ..
    } = args;
    let mut error = Diagnostic::new(format_args!(
        "no {what} for `{kind}` of `{group}/{version}` found in PROJECT"
    ));
    let (same, others): (Vec<_>, Vec<_>) = project
        .tables
        .iter()
        .partition(|table| type_of(table) == what);
    let distance =
        |a: &str, b: &str| strsim::damerau_levenshtein(&a.to_lowercase(), &b.to_lowercase());
    let near = same
        .into_iter()
        .filter(|table| distance(&target(table).kind, kind) <= 2);
    let typed = format!("{group} {version}");
    let best = near.min_by_key(|table| {
        let target = target(table);
        distance(&format!("{} {}", target.group, target.version), &typed)
    });
    let best = best.map(|table| format!("did you mean `{}`?", command(table)));
    let mut helps: Vec<String> = best.into_iter().collect();
    for table in others {
        if args.select(&target(table), project) {
            let (this, command) = (type_of(table), command(table));
            helps.push(format!("to delete its {this}: `{command}`"));
        }
    }
    helps.dedup();
    if helps.is_empty() {
        helps.push("see PROJECT for what exists".to_owned());
    }
    for help in helps {
        error = error.help(help);
    }
    error
}

/// What the table records, as messages call it.
fn type_of(table: &Table) -> &'static str {
    match table {
        Table::Api(_) => "resource",
        Table::Controller(_) => "controller",
        Table::Webhook(_) => "webhook",
    }
}

/// The kind of any table.
fn target(table: &Table) -> Target {
    match table {
        Table::Api(api) => Target::own(api),
        Table::Controller(controller) => controller.target.clone(),
        Table::Webhook(webhook) => webhook.target.clone(),
    }
}

/// The command that deletes what the table records.
pub fn command(table: &Table) -> String {
    if let Table::Controller(controller) = table {
        return format!(
            "kbr delete controller --controller-name {}",
            controller.name
        );
    }
    let what = if let Table::Api(_) = table {
        "api"
    } else {
        "webhook"
    };
    let Target {
        group,
        version,
        kind,
        ..
    } = target(table);
    format!("kbr delete {what} --group {group} --version {version} --kind {kind}")
}
