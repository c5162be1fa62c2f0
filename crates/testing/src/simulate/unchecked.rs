//! What a definition demands and the fake API server does not check.

use apiserver_rules::re2;
use serde_json::Value;

/// A note about what a definition demands and is not checked here.
pub(super) fn unchecked(crd: &Value) -> Option<String> {
    const HELP: &str = "; to evaluate rules, write in Cargo.toml: `kbr-testing = { workspace = true, features = [\"simulate\", \"cel\"] }`";
    let name = crd["metadata"]["name"].as_str().unwrap_or_default();
    let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    let schemas = versions.map(|version| &version["schema"]["openAPIV3Schema"]);
    let (mut rules, mut patterns) = (0, Vec::new());
    schemas.for_each(|schema| find_unchecked(schema, &mut rules, &mut patterns));
    let mut parts = Vec::new();
    let counts = rules > 0 && cfg!(not(feature = "cel"));
    if counts {
        parts.push(format!("rules in CEL ({rules})"));
    }
    if !patterns.is_empty() {
        parts.push(format!("the patterns {}", patterns.join(", ")));
    }
    let help = if counts { HELP } else { "" };
    let what = parts.join(" and ");
    (!parts.is_empty()).then(|| format!("{what} of {name} are not evaluated{help}"))
}

fn find_unchecked(schema: &Value, rules: &mut usize, patterns: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            let count = schema["x-kubernetes-validations"].as_array().map(Vec::len);
            *rules += count.unwrap_or_default();
            let pattern = schema["pattern"].as_str();
            patterns.extend(
                pattern
                    .filter(|it| re2::matches(it, "").is_none())
                    .map(str::to_owned),
            );
            let below = fields.iter().filter(|(name, _)| *name != "default");
            below.for_each(|(_, schema)| find_unchecked(schema, rules, patterns));
        }
        Value::Array(all) => all
            .iter()
            .for_each(|schema| find_unchecked(schema, rules, patterns)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_checked_is_counted() {
        let crd = |schema: Value| json!({"metadata": {"name": "a"}, "spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}});
        let checked = json!({"properties": {"a": {"pattern": "^a$", "format": "ipv4"}}});
        assert_eq!(unchecked(&crd(checked)), None);
        let rules = json!([{"rule": "self.a > 1"}, {"rule": "self.b"}]);
        let schema = json!({
            "x-kubernetes-validations": rules,
            "properties": {"a": {"items": {"pattern": "(?=a)", "x-kubernetes-validations": rules}}},
        });
        let found = unchecked(&crd(schema)).unwrap_or_default();
        let expected = if cfg!(feature = "cel") {
            "the patterns (?=a) of a are not evaluated"
        } else {
            "rules in CEL (4) and the patterns (?=a) of a are not evaluated; to evaluate rules, "
        };
        assert!(found.starts_with(expected), "{found}");
    }
}
