//! The names and the namespace of a project in its rendered objects -> those of a release.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::merge::Choice;
use super::tokens::{ALONE, FULL_NAME, SELF_MANAGED, conditional, each_container};

/// Stands for `{{` of the objects, which templates would read. Templates have no other special text.
const BRACES: &str = "kbrOpeningBracesKbr";
/// Stands for a `{` of the objects before one of these.
const BRACE: &str = "kbrOpeningBraceKbr";
/// Stands for `kbr` of the objects, where the word could be one of these.
const WORD: &str = "kbrKbr";
pub const NAMESPACE: &str = "kbrNamespaceKbr";
/// The full name, in a line that exists only if the release has another name than the project.
const IF_RENAMED: &str = "kbrFullNameIfRenamedKbr";
/// The Lease of a release with another name than the project, up to the domain, instead of one that does not begin with the project's name.
const LEASE_IF_RENAMED: &str = "kbrLeaseIfRenamedKbr";
const ELSE: &str = "kbrElseKbr";
const END: &str = "kbrEndKbr";
/// The label of which the value is the project's name: selectors of two releases in a namespace differ by it.
const LABEL: &str = "app.kubernetes.io/name";
/// The image of the operator.
pub const IMAGE: &str = "kbrImageKbr";
/// The value of an annotation that only some charts have.
pub const KEEP: &str = "kbrKeepKbr";

/// What a release names by itself.
#[derive(Clone, Debug)]
pub struct Names {
    chart: String,
    namespace: String,
    domain: String,
    /// Names that begin with that of the project, a hyphen, and the rest.
    prefixed: BTreeSet<String>,
}

impl Names {
    /// The names in `objects` of the project `chart` that runs in `namespace`: those of objects, and those that permissions, volumes and
    /// labels of kbr refer to. Other text that begins with the project's name, such as an image, is none of them.
    pub fn new<'a>(
        chart: &str,
        namespace: &str,
        domain: &str,
        objects: impl Iterator<Item = &'a Value>,
    ) -> Self {
        let mut prefixed = BTreeSet::new();
        let prefix = format!("{chart}-");
        for object in objects {
            collect(object, &mut |key, text| {
                let names = matches!(
                    key,
                    "name" | "resourceNames" | "secretName" | "serviceAccountName"
                ) || key.starts_with("kbr/");
                let plain = text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
                if names && plain && text.starts_with(&prefix) && text != namespace {
                    prefixed.insert(text.to_owned());
                }
            });
        }
        Self {
            chart: chart.to_owned(),
            namespace: namespace.to_owned(),
            domain: domain.to_owned(),
            prefixed,
        }
    }

    /// The name of the chart, which is that of the project.
    pub fn chart(&self) -> &str {
        &self.chart
    }

    /// Replaces the names in all strings of `value` with text that survives YAML; [`Self::expand`] makes templates of it.
    pub fn mark(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.marked(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.mark(item)),
            Value::Object(parts) => {
                for (key, mut part) in std::mem::take(parts) {
                    match &mut part {
                        Value::String(text) if key == "namespace" && *text == self.namespace => {
                            NAMESPACE.clone_into(text);
                        }
                        Value::String(text) if key == LABEL && *text == self.chart => {
                            FULL_NAME.clone_into(text);
                        }
                        other => self.mark(other),
                    }
                    parts.insert(literal(&key), part);
                }
            }
            _ => {}
        }
    }

    /// What else of an object names the release: its Lease, and the flags by which the operator knows its own names.
    pub fn mark_identity(&self, object: &mut Value) {
        let id = format!("{}.", self.chart);
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let elects = name.ends_with("-leader-election-role");
        let rules = object.get_mut("rules").and_then(Value::as_array_mut);
        for rule in rules.into_iter().flatten() {
            if rule["resources"] != json!(["leases"]) {
                continue;
            }
            let names = rule.get_mut("resourceNames").and_then(Value::as_array_mut);
            for name in names.into_iter().flatten() {
                let Some(lease) = name.as_str() else { continue };
                if let Some(domain) = lease.strip_prefix(&id) {
                    *name = json!(format!("{FULL_NAME}.{domain}"));
                } else if elects && lease.bytes().all(is_name) {
                    let renamed = format!("{LEASE_IF_RENAMED}.{}", self.domain);
                    *name = json!(format!("{renamed}{ELSE}{lease}{END}"));
                }
            }
        }
        if object["kind"] != "Deployment" {
            return;
        }
        each_container(object, |container| {
            let Some(Value::Array(flags)) = container.get_mut("args") else {
                return;
            };
            for (flag, own) in [
                (
                    "--leader-elect",
                    format!("--leader-election-id={IF_RENAMED}.{}", self.domain),
                ),
                (SELF_MANAGED, format!("--webhook-name={IF_RENAMED}")),
            ] {
                if let Some(position) = flags.iter().position(|it| it == flag) {
                    flags.insert(position + 1, json!(own));
                }
            }
        });
    }

    fn marked(&self, text: &str) -> String {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let mut marked = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let word = rest.bytes().take_while(|byte| is_word(*byte)).count();
            let (word, behind) = rest.split_at(word);
            // The namespace may be an ordinary word: it is one only beside a name, as in `namespace/name` and `name.namespace.svc`.
            let qualifies =
                behind.starts_with('/') || marked.ends_with('.') && marked.contains(FULL_NAME);
            if word == self.namespace && qualifies {
                marked.push_str(NAMESPACE);
            } else if self.prefixed.contains(word) {
                marked.push_str(FULL_NAME);
                marked.push_str(&word[self.chart.len()..]);
            } else {
                marked.push_str(&literal(word));
            }
            let other = behind.bytes().take_while(|byte| !is_word(*byte)).count();
            let (other, behind) = behind.split_at(other);
            marked.push_str(&match other.strip_suffix('{') {
                Some(other) if !behind.is_empty() => literal(other) + BRACE,
                _ => literal(other),
            });
            rest = behind;
        }
        marked
    }

    /// Replaces what [`Self::mark`] wrote with actions of a template.
    pub fn expand(&self, text: &str) -> String {
        let full_name = format!("{{{{ include \"{}.fullname\" . }}}}", self.chart);
        let quoted = full_name.replace(" }}", " | quote }}");
        let image = format!("{{{{ include \"{}.image\" . | quote }}}}", self.chart);
        let renamed = format!("ne (include \"{0}.fullname\" .) \"{0}\"", self.chart);
        conditional(text, IF_RENAMED, &renamed, &full_name)
            .replace(BRACES, "{{ \"{{\" }}")
            .replace(
                &format!("{NAMESPACE}{ALONE}"),
                "{{ .Release.Namespace | quote }}",
            )
            .replace(BRACE, "{{ \"{\" }}")
            .replace(WORD, "{{ \"kbr\" }}")
            .replace(NAMESPACE, "{{ .Release.Namespace }}")
            .replace(&format!("{FULL_NAME}{ALONE}"), &quoted)
            .replace(FULL_NAME, &full_name)
            .replace(
                LEASE_IF_RENAMED,
                &format!("\"{{{{ if {renamed} }}}}{full_name}"),
            )
            .replace(ELSE, "{{ else }}")
            .replace(END, "{{ end }}\"")
            .replace(&format!("{IMAGE}{ALONE}"), &image)
    }

    /// Whether a string is a mark and nothing else.
    pub fn is_mark(text: &str) -> bool {
        [NAMESPACE, FULL_NAME, IMAGE].contains(&text)
    }

    /// Whether there is a name of the release in a part of `choice`.
    pub fn prefixes(choice: &Choice) -> bool {
        format!("{choice:?}").contains(FULL_NAME)
    }

    /// The name of an object as it is in the project, after [`Self::mark`].
    pub fn plain(&self, marked: &str) -> String {
        marked
            .replace(FULL_NAME, &self.chart)
            .replace(NAMESPACE, &self.namespace)
            .replace(BRACES, "{{")
            .replace(BRACE, "{")
            .replace(WORD, "kbr")
    }

    /// A value as it is in the project, after [`Self::mark`].
    pub fn plain_value(&self, marked: Value) -> Value {
        match marked {
            Value::String(text) => json!(self.plain(&text)),
            Value::Array(items) => items.into_iter().map(|it| self.plain_value(it)).collect(),
            Value::Object(parts) => parts
                .into_iter()
                .map(|(key, part)| (self.plain(&key), self.plain_value(part)))
                .collect(),
            other => other,
        }
    }

    /// The name of an object without that of the project: `webhook` for `cronjob-webhook`.
    pub fn suffix<'a>(&self, name: &'a str) -> &'a str {
        let suffix = name
            .strip_prefix(&self.chart)
            .and_then(|it| it.strip_prefix('-'));
        suffix.unwrap_or(name)
    }
}

/// Whether a string of YAML or Go may have the byte as it is.
pub fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte)
}

/// Text of an object that neither templates read nor kbr, for one of its own marks: these begin with `kbr` and a capital.
fn literal(text: &str) -> String {
    let mut parts = text.split("kbr");
    let mut literal = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_mark = part.starts_with(|it: char| it.is_ascii_uppercase());
        literal.push_str(if is_mark { WORD } else { "kbr" });
        literal.push_str(part);
    }
    literal.replace("{{", BRACES)
}

/// Calls `found` for each string with the key that it is below, also through lists.
fn collect(value: &Value, found: &mut dyn FnMut(&str, &str)) {
    fn below(key: &str, value: &Value, found: &mut dyn FnMut(&str, &str)) {
        match value {
            Value::String(text) => found(key, text),
            Value::Array(items) => items.iter().for_each(|item| below(key, item, found)),
            Value::Object(parts) => parts.iter().for_each(|(key, part)| below(key, part, found)),
            _ => {}
        }
    }
    below("", value, found);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let names = Names::new(
            "shop",
            "shop-system",
            "example.com",
            [
                json!({ "metadata": { "name": "shop-webhook", "namespace": "shop-system" } }),
                json!({ "spec": { "image": "shop-image", "containers": [{ "name": "shop" }] } }),
            ]
            .iter(),
        );
        let mut value = json!(text);
        names.mark(&mut value);
        assert_eq!(names.expand(value.as_str().unwrap()), expected);
    }

    #[test]
    fn whole_words_are_replaced_and_nothing_else() {
        check("shop-webhook", "{{ include \"shop.fullname\" . }}-webhook");
        check(
            "shop-webhook.shop-system.svc",
            "{{ include \"shop.fullname\" . }}-webhook.{{ .Release.Namespace }}.svc",
        );
        check(
            "shop-webhooks my-shop-webhook shop_shop-webhook",
            "shop-webhooks my-shop-webhook shop_shop-webhook",
        );
        check("shop", "shop");
        check("shop-image", "shop-image");
        check(
            "über shop-webhook",
            "über {{ include \"shop.fullname\" . }}-webhook",
        );
        check(
            "shop-system/shop-webhook",
            "{{ .Release.Namespace }}/{{ include \"shop.fullname\" . }}-webhook",
        );
    }

    #[test]
    fn the_namespace_is_replaced_where_it_is_one() {
        let names = Names::new("shop", "monitoring", "example.com", [].iter());
        let mut object = json!({ "metadata": { "namespace": "monitoring" }, "text": "monitoring", "list": ["monitoring"] });
        names.mark(&mut object);
        let expected = json!({ "metadata": { "namespace": NAMESPACE }, "text": "monitoring", "list": ["monitoring"] });
        assert_eq!(object, expected);
    }

    #[test]
    fn an_imported_lease_keeps_its_name_unless_the_release_has_another() {
        let names = Names::new("shop", "shop-system", "example.com", [].iter());
        let lease = |role: &str, lease: &str| {
            let leases = json!({ "resources": ["leases"], "resourceNames": [lease] });
            let mut role = json!({ "metadata": { "name": role }, "rules": [leases] });
            names.mark_identity(&mut role);
            names.expand(role["rules"][0]["resourceNames"][0].as_str().unwrap())
        };
        let role = "shop-leader-election-role";
        assert_eq!(
            lease(role, "3f7a.example.org"),
            "\"{{ if ne (include \"shop.fullname\" .) \"shop\" }}{{ include \"shop.fullname\" . }}.example.com\
             {{ else }}3f7a.example.org{{ end }}\""
        );
        let own = "{{ include \"shop.fullname\" . }}.example.com";
        assert_eq!(lease(role, "shop.example.com"), own);
        assert_eq!(lease("shop-manager-role", "stock"), "stock");
    }

    #[test]
    fn actions_of_other_templates_stay_text() {
        check("a {{ $labels.pod }} b", "a {{ \"{{\" }} $labels.pod }} b");
        check(
            "{shop-webhook}",
            "{{ \"{\" }}{{ include \"shop.fullname\" . }}-webhook}",
        );
    }

    #[test]
    fn text_that_looks_like_a_mark_stays_text() {
        for mark in [
            BRACES, BRACE, WORD, NAMESPACE, FULL_NAME, IF_RENAMED, END, KEEP,
        ] {
            let rest = mark.strip_prefix("kbr").unwrap();
            check(mark, &format!("{{{{ \"kbr\" }}}}{rest}"));
        }
        check("kbr kbrs kbr/x", "kbr kbrs kbr/x");
    }

    #[test]
    fn keys_are_text_too() {
        let names = Names::new("shop", "shop-system", "example.com", [].iter());
        let before = json!({ "{{ fail \"x\" }}": 1, "kbrEndKbr": { "a": "{{" } });
        let mut marked = before.clone();
        names.mark(&mut marked);
        let text = names.expand(&marked.to_string());
        assert!(!text.contains("{{ fail"), "{text}");
        assert_eq!(names.plain_value(marked), before);
    }
}
