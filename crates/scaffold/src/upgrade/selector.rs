//! The selector by which webhooks for kinds that are not the project's own skip the operator's namespace: releases before 0.3.0 select by
//! a label that tenants may set on their namespaces.

/// `text` with the selector of the release `new`, if `ancestor` has the earlier one. It is replaced in edited markers, too.
pub fn renewed(text: &str, ancestor: &str, new: &str) -> String {
    let earlier = selector(ancestor, "app.kubernetes.io/name");
    let later = selector(new, "kubernetes.io/metadata.name");
    let Some((earlier, later)) = earlier.zip(later) else {
        return text.to_owned();
    };
    let lines = text.split_inclusive('\n').map(|line| {
        if line.trim_start().starts_with("// +kbr:webhook:") {
            line.replace(earlier, later)
        } else {
            line.to_owned()
        }
    });
    lines.collect()
}

/// The first requirement of a selector in `text` that excludes one value of `label`, as kbr writes it.
fn selector<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let start = format!("{{\"key\":\"{label}\",\"operator\":\"NotIn\",\"values\":[\"");
    let at = text.find(&start)?;
    let (value, _) = text[at + start.len()..].split_once("\"]}")?;
    Some(&text[at..at + start.len() + value.len() + "\"]}".len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(policy: &str, key: &str, value: &str) -> String {
        format!(
            "// +kbr:webhook:path=/a,failurePolicy={policy},patch=`{{\"namespaceSelector\":{{\"matchExpressions\":[{{\"key\":\"{key}\",\"operator\":\"NotIn\",\"values\":[\"{value}\"]}}]}}}}`\n"
        )
    }

    #[test]
    fn the_selector_is_replaced_in_markers_wherever_they_are() {
        let ancestor = marker("Fail", "app.kubernetes.io/name", "captains");
        let new = marker("Fail", "kubernetes.io/metadata.name", "captains-system");
        let check =
            |text: &str, expected: &str| assert_eq!(renewed(text, &ancestor, &new), expected);
        check(&ancestor, &new);
        let edited = |key, value| format!("fn a() {{}}\n  {}", marker("Ignore", key, value));
        check(
            &edited("app.kubernetes.io/name", "captains"),
            &edited("kubernetes.io/metadata.name", "captains-system"),
        );
        for other in [
            edited("app.kubernetes.io/name", "another"),
            edited("team", "captains"),
            ancestor.replace("// +kbr", "// kbr"),
        ] {
            check(&other, &other);
        }
        assert_eq!(renewed(&ancestor, &ancestor, "fn a() {}"), ancestor);
    }
}
