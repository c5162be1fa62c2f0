//! The kind that the flags of `kbr delete` select.

use super::super::completion;
use crate::diagnostic::Diagnostic;
use crate::project::{Project, Table};
use crate::resource::groups;
use crate::resource::target::Target;

/// The flags that select a version of a kind.
#[derive(Clone, Debug, clap::Args)]
pub struct KindArgs {
    /// API group, as for `kbr create`: without the project's domain, or in full; `core` is Kubernetes' core group
    #[arg(long, add = completion::groups())]
    pub group: String,
    /// Version of the API
    #[arg(long, add = completion::versions())]
    pub version: String,
    /// Kind in upper camel case
    #[arg(long, add = completion::kinds())]
    pub kind: String,
    /// Domain of this API's group [default: the project's]
    #[arg(long)]
    pub domain: Option<String>,
}

impl KindArgs {
    /// Whether the flags select this version of a kind.
    pub fn select(&self, target: &Target, project: &Project) -> bool {
        let domain = self.domain.as_ref().unwrap_or(&project.head.domain);
        let (_, full_group) = groups(&self.group, domain);
        // A domain changes nothing for the groups of Kubernetes and of other crates.
        let is_fixed = self.domain.is_none() || !target.is_own();
        let by_word = is_fixed && [&target.group, &target.full_group].contains(&&self.group);
        self.kind == target.kind
            && self.version == target.version
            && (by_word || target.full_group == full_group)
    }

    /// The error if PROJECT has no such table; `what` is `a controller`. It names the tables of that type, and those of other types
    /// for this kind.
    pub fn missing(&self, what: &str, project: &Project) -> Diagnostic {
        let KindArgs {
            group,
            version,
            kind,
            ..
        } = self;
        let mut error = Diagnostic::new(format_args!(
            "PROJECT has no {what} for `{kind}` of `{group}/{version}`"
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
            if self.select(&target(table), project) {
                let (this, command) = (type_of(table), command(table));
                helps.push(format!("it has a {this}: `{command}`"));
            }
        }
        helps.dedup();
        if helps.is_empty() {
            helps.push("the tables of PROJECT list what there is".to_owned());
        }
        for help in helps {
            error = error.help(help);
        }
        error
    }
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
