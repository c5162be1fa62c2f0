//! Label and field selectors.
//!
//! Source: `k8s.io/apimachinery/pkg/labels/selector.go`; the fields of each kind: `pkg/apis/core/v1/conversion.go`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{answer::ErrorResponse, path::Path};

/// The fields that objects are selected by, beside those that every kind has, by root and plural. The real API server
/// has a few more.
const FIELDS: [(&str, &str, &[&str]); 4] = [
    (
        "/api/v1",
        "events",
        &[
            "involvedObject.kind",
            "involvedObject.name",
            "involvedObject.namespace",
            "involvedObject.uid",
            "reason",
            "type",
        ],
    ),
    ("/api/v1", "namespaces", &["status.phase"]),
    (
        "/api/v1",
        "pods",
        &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.phase",
        ],
    ),
    ("/api/v1", "secrets", &["type"]),
];

/// The selection of a list or a watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection(Vec<Term>);

#[derive(Clone, Debug)]
struct Term {
    what: What,
    /// Whether the values must match, or must not match.
    fits: bool,
    /// `None` for any value.
    values: Option<Vec<String>>,
}

#[derive(Clone, Debug)]
enum What {
    Label(String),
    /// A JSON pointer.
    Field(String),
}

impl Selection {
    /// Parses the parameters of a request.
    pub(super) fn parse(
        query: &BTreeMap<String, String>,
        path: &Path,
    ) -> Result<Self, ErrorResponse> {
        let of = |name: &str| query.get(name).map_or("", String::as_str);
        let mut terms = Vec::new();
        for text in terms_of(of("labelSelector")) {
            let term = term(text).ok_or_else(|| {
                ErrorResponse::bad_request(path, format!("unable to parse requirement: {text}"))
            })?;
            terms.push(term);
        }
        for text in terms_of(of("fieldSelector")) {
            let Some(mut term) = term(text) else {
                return Err(ErrorResponse::bad_request(
                    path,
                    format!("invalid selector: {text}"),
                ));
            };
            let What::Label(field) = &term.what else {
                continue;
            };
            if !is_supported(field, path) {
                return Err(ErrorResponse::beyond(path, &format!("select by `{field}`")));
            }
            term.what = What::Field(format!("/{}", field.replace('.', "/")));
            terms.push(term);
        }
        Ok(Self(terms))
    }

    /// The selection by a `LabelSelector`. An operator that does not exist selects nothing.
    pub(crate) fn of(selector: &Value) -> Self {
        let texts = |values: &Value| -> Vec<String> {
            let values = values.as_array().into_iter().flatten();
            values
                .filter_map(|it| Some(it.as_str()?.to_owned()))
                .collect()
        };
        let equal = selector["matchLabels"].as_object().into_iter().flatten();
        let equal = equal.map(|(name, value)| Term {
            what: What::Label(name.clone()),
            fits: true,
            values: Some(value.as_str().map(str::to_owned).into_iter().collect()),
        });
        let others = selector["matchExpressions"]
            .as_array()
            .into_iter()
            .flatten();
        let others = others.map(|term| {
            let (fits, values) = match term["operator"].as_str() {
                Some("In") => (true, Some(texts(&term["values"]))),
                Some("NotIn") => (false, Some(texts(&term["values"]))),
                Some("Exists") => (true, None),
                Some("DoesNotExist") => (false, None),
                _ => (true, Some(Vec::new())),
            };
            let what = What::Label(term["key"].as_str().unwrap_or_default().to_owned());
            Term { what, fits, values }
        });
        Self(equal.chain(others).collect())
    }

    /// Whether an object matches.
    pub(crate) fn fits(&self, object: &Value) -> bool {
        self.0.iter().all(|term| {
            let value = match &term.what {
                What::Label(name) => object["metadata"]["labels"][name].as_str(),
                // A field that is not set is empty.
                What::Field(pointer) => Some(
                    object
                        .pointer(pointer)
                        .and_then(Value::as_str)
                        .unwrap_or_default(),
                ),
            };
            let found = match (value, &term.values) {
                (None, _) => false,
                (Some(_), None) => true,
                (Some(value), Some(values)) => values.iter().any(|wanted| wanted == value),
            };
            found == term.fits
        })
    }
}

fn is_supported(field: &str, path: &Path) -> bool {
    let here = |(root, plural, _): &&(&str, &str, _)| *root == path.root && *plural == path.plural;
    let own = FIELDS
        .iter()
        .find(here)
        .map_or(&[][..], |(_, _, fields)| fields);
    ["metadata.name", "metadata.namespace"].contains(&field) || own.contains(&field)
}

/// The terms of a selector, separated by commas outside brackets.
fn terms_of(selector: &str) -> Vec<&str> {
    let (mut terms, mut start, mut inside) = (Vec::new(), 0, false);
    for (at, letter) in selector.char_indices() {
        match letter {
            '(' => inside = true,
            ')' => inside = false,
            ',' if !inside => {
                terms.push(&selector[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&selector[start..]);
    let terms = terms.into_iter().map(str::trim);
    terms.filter(|term| !term.is_empty()).collect()
}

fn term(text: &str) -> Option<Term> {
    let label = |name: &str| {
        let name = name.trim();
        let odd = name.is_empty() || name.contains(|letter: char| " !=()".contains(letter));
        (!odd).then(|| What::Label(name.to_owned()))
    };
    let one = |value: &str| Some(vec![value.trim().to_owned()]);
    let (what, fits, values) = if let Some(list) = text.strip_suffix(')') {
        let (front, list) = list.split_once('(')?;
        let values = list
            .split(',')
            .map(|value| value.trim().to_owned())
            .collect();
        let (name, operator) = front.trim().rsplit_once(' ')?;
        let fits = match operator {
            "in" => true,
            "notin" => false,
            _ => return None,
        };
        (label(name)?, fits, Some(values))
    } else if let Some((name, value)) = text.split_once("!=") {
        (label(name)?, false, one(value))
    } else if let Some((name, value)) = text.split_once('=') {
        (label(name)?, true, one(value.trim_start_matches('=')))
    } else if let Some(name) = text.strip_prefix('!') {
        (label(name)?, false, None)
    } else {
        (label(text)?, true, None)
    };
    Some(Term { what, fits, values })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fits(parameter: &str, selector: &str) -> Option<bool> {
        let object = json!({"metadata": {"name": "n", "labels": {"a": "b", "x.io/y": "z"}}});
        let query = [(parameter.to_owned(), selector.to_owned())].into();
        let path = Path::parse("/api/v1/pods").unwrap();
        let selection = Selection::parse(&query, &path).ok()?;
        Some(selection.fits(&object))
    }

    #[test]
    fn label_selectors_are_supported() {
        for selector in [
            "",
            "a",
            "a=b",
            "a==b",
            "c!=d",
            "a=b,c!=d",
            "a in (b,c),a",
            "c notin (a, b)",
            "!c",
            "x.io/y in (z)",
        ] {
            assert_eq!(fits("labelSelector", selector), Some(true), "{selector}");
        }
        for selector in [
            "c",
            "a=c",
            "a!=b",
            "a=b,c=d",
            "a in (c)",
            "a notin (b)",
            "!a",
        ] {
            assert_eq!(fits("labelSelector", selector), Some(false), "{selector}");
        }
        for selector in ["a is b", "a in b", "=b", "a of (b)"] {
            assert_eq!(fits("labelSelector", selector), None, "{selector}");
        }
    }

    #[test]
    fn field_selectors_support_the_fields_of_the_kind() {
        assert_eq!(fits("fieldSelector", "metadata.name=n"), Some(true));
        assert_eq!(fits("fieldSelector", "metadata.name!=n"), Some(false));
        assert_eq!(fits("fieldSelector", "metadata.namespace=n"), Some(false));
        assert_eq!(fits("fieldSelector", "status.phase!=Failed"), Some(true));
        assert_eq!(fits("fieldSelector", "spec.nodeName="), Some(true));
        assert_eq!(fits("fieldSelector", "spec.nodeName=n"), Some(false));
        assert_eq!(fits("fieldSelector", "type=Opaque"), None);
    }
}
