//! Text that stands for values in the marked objects, and lines of templates with it.

use serde_json::Value;

/// What the names of a release begin with.
pub const FULL_NAME: &str = "kbrFullNameKbr";

/// The port of the metrics.
pub const METRICS: &str = "kbrMetricsPortKbr";

/// Behind a mark that is a whole string of YAML, which an action quotes: a name or a namespace may be `true` or `123`.
pub const ALONE: &str = "kbrAloneKbr";

/// The flag of an operator that manages the certificate of its webhooks.
pub const SELF_MANAGED: &str = "--webhook-certificate=self-managed";

/// Calls `change` for each container of a Deployment.
pub fn each_container(deployment: &mut Value, change: impl FnMut(&mut Value)) {
    let containers = &mut deployment["spec"]["template"]["spec"]["containers"];
    containers
        .as_array_mut()
        .into_iter()
        .flatten()
        .for_each(change);
}

/// Puts each line with `mark` below a condition, and replaces the mark with an action.
pub fn conditional(text: &str, mark: &str, condition: &str, action: &str) -> String {
    let conditional = |line: &str| {
        if !line.contains(mark) {
            return line.to_owned();
        }
        let line = line.trim_end().replace(mark, action);
        format!("{{{{- if {condition} }}}}\n{line}\n{{{{- end }}}}\n")
    };
    text.split_inclusive('\n').map(conditional).collect()
}
