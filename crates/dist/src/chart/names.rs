//! The names and the namespace of a project in its rendered objects -> those of a release.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use kbr_scaffold::project::Head;

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

/// Names that do not begin with that of the project, or with its prefix, unless the release has another name than it: the mark, the
/// helper of the template, and what such a name is of a renamed release behind its full name.
const OWN: [(&str, &str, &str); 3] = [
    ("kbrDeploymentKbr", "deployment", "-controller-manager"),
    (
        "kbrServiceAccountKbr",
        "serviceAccount",
        "-controller-manager",
    ),
    ("kbrProjectKbr", "project", ""),
];
const DEPLOYMENT: &str = OWN[0].0;
const SERVICE_ACCOUNT: &str = OWN[1].0;
const PROJECT: &str = OWN[2].0;

/// What a release names by itself.
#[derive(Clone, Debug)]
pub struct Names {
    chart: String,
    /// What all names begin with, without the hyphen: the name of the chart, unless PROJECT says otherwise.
    base: String,
    namespace: String,
    domain: String,
    /// The names of [`OWN`], or none for one that begins with the base.
    own: [Option<String>; 3],
    /// Names that begin with that of the project, a hyphen, and the rest.
    prefixed: BTreeSet<String>,
}

impl Names {
    /// The names in `objects` of a project that runs in `namespace`: those of objects, and those that permissions, volumes and labels of
    /// kbr refer to. Other text that begins with the same prefix, such as an image, is none of them.
    pub fn new<'a>(
        project: &Head,
        namespace: &str,
        objects: impl Iterator<Item = &'a Value>,
    ) -> Self {
        let mut prefixed = BTreeSet::new();
        let names = project.names();
        let prefix = format!("{}-", names.prefix);
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
        let own = |name: String| Some(name).filter(|it| !it.starts_with(&prefix));
        Self {
            own: [
                own(names.deployment),
                own(names.service_account),
                Some(project.name.clone()).filter(|it| *it != names.prefix),
            ],
            chart: project.name.clone(),
            base: names.prefix,
            namespace: namespace.to_owned(),
            domain: project.domain.clone(),
            prefixed,
        }
    }

    /// The name of the chart, which is that of the project.
    pub fn chart(&self) -> &str {
        &self.chart
    }

    /// What all names begin with, unless the release has a name of its own.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The namespace that the operator runs in, in the project.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name of the helper for the label of Pods.
    pub fn label_helper(&self) -> &'static str {
        if self.project() == PROJECT {
            "project"
        } else {
            "fullname"
        }
    }

    /// Helpers for the names that do not begin with the full name.
    pub fn helpers(&self) -> String {
        let (chart, base) = (&self.chart, &self.base);
        let own = OWN.iter().zip(&self.own);
        let helper = |((_, helper, end), own): (&(_, &str, &str), &Option<String>)| {
            let own = own.as_ref()?;
            Some(format!(
                r#"
{{{{/* `{own}`, unless the release has a name of its own. */}}}}
{{{{- define "{chart}.{helper}" -}}}}
{{{{- $name := include "{chart}.fullname" . -}}}}
{{{{- if eq $name "{base}" }}}}{own}{{{{ else }}}}{{{{ $name }}}}{end}{{{{ end -}}}}
{{{{- end -}}}}
"#
            ))
        };
        own.filter_map(helper).collect()
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
                            self.project().clone_into(text);
                        }
                        other => self.mark(other),
                    }
                    parts.insert(literal(&key), part);
                }
            }
            _ => {}
        }
    }

    /// What stands for the name of the project.
    fn project(&self) -> &'static str {
        if self.own[2].is_some() {
            PROJECT
        } else {
            FULL_NAME
        }
    }

    /// The names of the Deployment and the `ServiceAccount`, where they are not ones with the prefix.
    fn mark_own(&self, object: &mut Value) {
        let [deployment, account, _] = &self.own;
        let mark = |name: Option<&mut Value>, own: &Option<String>, mark: &str| {
            if let (Some(Value::String(name)), Some(own)) = (name, own)
                && *name == literal(own)
            {
                mark.clone_into(name);
            }
        };
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "Deployment" => {
                mark(object.pointer_mut("/metadata/name"), deployment, DEPLOYMENT);
                let path = "/spec/template/spec/serviceAccountName";
                mark(object.pointer_mut(path), account, SERVICE_ACCOUNT);
            }
            "ServiceAccount" => {
                let name = object.pointer_mut("/metadata/name");
                mark(name, account, SERVICE_ACCOUNT);
            }
            _ => {
                let subjects = object.get_mut("subjects").and_then(Value::as_array_mut);
                for subject in subjects.into_iter().flatten() {
                    mark(subject.get_mut("name"), account, SERVICE_ACCOUNT);
                }
            }
        }
    }

    /// What else of an object names the release: its Lease, and the flags by which the operator knows its own names.
    pub fn mark_identity(&self, object: &mut Value) {
        self.mark_own(object);
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
                if let Some(domain) = lease.strip_prefix(&id)
                    && self.base == self.chart
                {
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
                marked.push_str(&word[self.base.len()..]);
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
        let renamed = format!(
            "ne (include \"{}.fullname\" .) \"{}\"",
            self.chart, self.base
        );
        let mut text = text.to_owned();
        for (mark, helper, _) in OWN {
            let action = format!("{{{{ include \"{}.{helper}\" . }}}}", self.chart);
            let quoted = action.replace(" }}", " | quote }}");
            text = text
                .replace(&format!("{mark}{ALONE}"), &quoted)
                .replace(mark, &action);
        }
        conditional(&text, IF_RENAMED, &renamed, &full_name)
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
        let others = [DEPLOYMENT, SERVICE_ACCOUNT, PROJECT];
        [NAMESPACE, FULL_NAME, IMAGE].contains(&text) || others.contains(&text)
    }

    /// Whether there is a name of the release in a part of `choice`.
    pub fn prefixes(choice: &Choice) -> bool {
        let text = format!("{choice:?}");
        text.contains(FULL_NAME) || text.contains(PROJECT)
    }

    /// The name of an object as it is in the project, after [`Self::mark`].
    pub fn plain(&self, marked: &str) -> String {
        let mut plain = marked.to_owned();
        for ((mark, ..), own) in OWN.iter().zip(&self.own) {
            plain = plain.replace(mark, own.as_deref().unwrap_or_default());
        }
        plain
            .replace(FULL_NAME, &self.base)
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
            .strip_prefix(&self.base)
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

    fn shop() -> Head {
        Head {
            name: "shop".to_owned(),
            domain: "example.com".to_owned(),
            ..Head::default()
        }
    }

    fn check(text: &str, expected: &str) {
        let names = Names::new(
            &shop(),
            "shop-system",
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
        let names = Names::new(&shop(), "monitoring", [].iter());
        let mut object = json!({ "metadata": { "namespace": "monitoring" }, "text": "monitoring", "list": ["monitoring"] });
        names.mark(&mut object);
        let expected = json!({ "metadata": { "namespace": NAMESPACE }, "text": "monitoring", "list": ["monitoring"] });
        assert_eq!(object, expected);
    }

    #[test]
    fn an_imported_lease_keeps_its_name_unless_the_release_has_another() {
        let names = Names::new(&shop(), "shop-system", [].iter());
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
    fn names_of_the_table_stay_unless_the_release_has_another() {
        let mut shop = shop();
        shop.names.prefix = Some("sea".to_owned());
        shop.names.deployment = Some("kraken".to_owned());
        let mut object = json!({
            "kind": "Deployment",
            "metadata": { "name": "kraken", "labels": { LABEL: "shop" } },
            "spec": { "template": { "spec": { "serviceAccountName": "sea-account", "containers": [{ "name": "kraken" }] } } },
        });
        let before = object.clone();
        let names = Names::new(&shop, "deep", [object.clone()].iter());
        names.mark(&mut object);
        names.mark_identity(&mut object);
        assert_eq!(names.plain_value(object.clone()), before);
        let text = names.expand(&object.to_string());
        for part in [
            r#""name":"{{ include "shop.deployment" . }}""#,
            r#"/name":"{{ include "shop.project" . }}""#,
            r#""serviceAccountName":"{{ include "shop.fullname" . }}-account""#,
            r#"[{"name":"kraken"}]"#,
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let helpers = names.helpers();
        let deployment =
            r#"{{- if eq $name "sea" }}kraken{{ else }}{{ $name }}-controller-manager{{ end -}}"#;
        assert!(helpers.contains(deployment), "{helpers}");
        assert_eq!(names.suffix("sea-webhook"), "webhook");
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
        let names = Names::new(&shop(), "shop-system", [].iter());
        let before = json!({ "{{ fail \"x\" }}": 1, "kbrEndKbr": { "a": "{{" } });
        let mut marked = before.clone();
        names.mark(&mut marked);
        let text = names.expand(&marked.to_string());
        assert!(!text.contains("{{ fail"), "{text}");
        assert_eq!(names.plain_value(marked), before);
    }
}
