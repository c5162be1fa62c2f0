//! The report of `kbr manifests permissions`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::access::{Access, arguments};
use super::granted::Permission;
use super::usage::{Denial, Usage};
use kbr_host::lines::one_line;

/// The comparison of permissions and requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// For people; each section begins with its heading.
    pub text: String,
    /// The number of permissions that were denied, and that the operator still does not have.
    pub denied: usize,
}

/// Renders what was found. Sections without lines are left out.
pub fn report(usage: &Usage) -> Report {
    let missing = denied(usage, false);
    let (unlogged, unused): (Vec<_>, Vec<_>) = usage
        .unused()
        .partition(|permission| permission.access.is_unlogged());
    let sections = [
        (
            "denied; write these comments where the controller is registered",
            missing_lines(&missing),
        ),
        (
            "denied, but now granted: the roles changed, or were not yet in effect",
            granted_lines(&denied(usage, true)),
        ),
        ("wider than used", wide_lines(usage)),
        ("never used in these tests", by_place(&unused)),
        (
            "not logged: the API server checks these within other requests",
            by_place(&unlogged),
        ),
        (
            "granted by roles outside of `config/default`",
            other_lines(usage),
        ),
    ];
    let mut text = String::new();
    for (heading, lines) in sections {
        section(&mut text, heading, &lines);
    }
    let used = usage.permissions.len() - unlogged.len() - unused.len();
    let all = used + unused.len();
    let _ = writeln!(text, "permissions used: {used} of {all}");
    Report {
        denied: missing.len(),
        text,
    }
}

fn section(text: &mut String, heading: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "{heading}:");
    for line in lines {
        let _ = writeln!(text, "  {}", one_line(line));
    }
    text.push('\n');
}

fn denied<'a>(usage: &'a Usage, granted: bool) -> Vec<(&'a Access, &'a Denial)> {
    let all = usage.denied.iter();
    all.filter(|(_, denial)| denial.is_granted == granted)
        .collect()
}

/// A marker for each resource, and the first message about it.
fn missing_lines(denied: &[(&Access, &Denial)]) -> Vec<String> {
    let same = |a: &(&Access, &Denial), b: &(&Access, &Denial)| a.0.is_on_the_same(b.0);
    let mut lines = Vec::new();
    for denials in denied.chunk_by(same) {
        let accesses = denials.iter().map(|(access, _)| *access).collect();
        let markers = arguments(&accesses);
        lines.extend(markers.iter().map(|it| format!("// +kbr:rbac:{it}")));
        for (_, denial) in denials {
            lines.push(format!("    {}: {}", requests(denial), denial.message));
        }
    }
    lines
}

fn granted_lines(denied: &[(&Access, &Denial)]) -> Vec<String> {
    let line = |(access, denial): &(&Access, &Denial)| {
        let marker = arguments(&BTreeSet::from([*access])).join("");
        format!("{marker}: {}", requests(denial))
    };
    denied.iter().map(line).collect()
}

fn requests(denial: &Denial) -> String {
    match denial.requests {
        1 => "1 request".to_owned(),
        count => format!("{count} requests"),
    }
}

/// Each rule with `*` that was used, and what suffices instead.
fn wide_lines(usage: &Usage) -> Vec<String> {
    let mut lines = Vec::new();
    for (permission, uses) in &usage.permissions {
        if permission.access.is_wide() && !uses.is_empty() {
            lines.extend(by_place(&[permission]));
            let used = arguments(&uses.iter().collect());
            lines.extend(used.iter().map(|it| format!("    used: {it}")));
        }
    }
    lines
}

/// One line for each resource of each place.
fn by_place(permissions: &[&Permission]) -> Vec<String> {
    let of_one = |group: &[&Permission]| {
        let accesses = group.iter().map(|permission| &permission.access).collect();
        let at = group[0].at.clone();
        let lines = arguments(&accesses).into_iter();
        lines.map(move |arguments| format!("{at}: {arguments}"))
    };
    permissions
        .chunk_by(|a, b| a.at == b.at)
        .flat_map(of_one)
        .collect()
}

fn other_lines(usage: &Usage) -> Vec<String> {
    let line = |(access, reason): (&Access, &String)| {
        let marker = arguments(&BTreeSet::from([access])).join("");
        let by = reason.trim_start_matches("RBAC: ");
        format!("{marker}: {by}")
    };
    usage.elsewhere.iter().map(line).collect()
}

#[cfg(test)]
mod tests;
