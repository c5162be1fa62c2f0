//! A tree of cases -> a template in YAML.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::condition::{Cases, condition};
use super::marks::Marks;
use super::merge::{Choice, Node};
use super::names::Names;
use super::place::open;
use super::role_namespaces::RoleNamespaces;
use super::settings::{Form, Setting};
use super::tokens::ALONE;
use super::webhook_namespaces;
use kbr_scaffold::{quote, yaml};

/// Writes templates of a chart with these switches.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    /// The values that are the switches, by number.
    pub switches: &'a [String],
    /// What stands for other text in strings.
    pub marks: &'a Marks,
    /// The project's own items of the settings that are lists.
    pub own: &'a BTreeMap<&'static str, Vec<Value>>,
}

impl Writer<'_> {
    /// One object, which exists in the cases of `choice` out of `all`.
    ///
    /// # Errors
    /// It cannot be written as YAML.
    pub fn object(&self, choice: &Choice, all: &Cases) -> anyhow::Result<String> {
        let mut text = String::new();
        self.choice(&mut text, choice, all, &mut |text, node, scope| {
            self.node(text, node, 0, scope)
        })?;
        let text = self.marks.ports.expand(&RoleNamespaces::expand(&text));
        let text = webhook_namespaces::expand(&text);
        Ok(self.marks.names.expand(&text))
    }

    /// Each variant, below the condition for it.
    fn choice(
        &self,
        text: &mut String,
        choice: &Choice,
        scope: &Cases,
        write: &mut dyn FnMut(&mut String, &Node, &Cases) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut left = scope.clone();
        for (position, (cases, node)) in choice.variants.iter().enumerate() {
            let word = if position == 0 { "if" } else { "else if" };
            match condition(cases, &left, self.switches) {
                Some(expression) => writeln!(text, "{{{{- {word} {expression} }}}}")?,
                None if position > 0 => writeln!(text, "{{{{- else }}}}")?,
                None => {}
            }
            write(text, node, cases)?;
            left = left.difference(cases).copied().collect();
        }
        let conditional = choice.variants.len() > 1 || !left.is_empty();
        if conditional {
            writeln!(text, "{{{{- end }}}}")?;
        }
        Ok(())
    }

    /// A node that begins a line of its own.
    fn node(
        &self,
        text: &mut String,
        node: &Node,
        indent: usize,
        scope: &Cases,
    ) -> anyhow::Result<()> {
        match node {
            Node::Same(value) => plain(text, value, indent),
            Node::Map(parts) => parts.iter().try_for_each(|(key, part)| {
                self.choice(text, part, scope, &mut |text, node, scope| {
                    self.entry(text, key, node, indent, scope)
                })
            }),
            Node::List(items) => items.iter().try_for_each(|item| {
                self.choice(text, item, scope, &mut |text, node, scope| {
                    self.item(text, node, indent, scope)
                })
            }),
            Node::Set(setting, _) => bail!("the whole object would be `{}`", setting.value),
        }
    }

    fn entry(
        &self,
        text: &mut String,
        key: &str,
        node: &Node,
        indent: usize,
        scope: &Cases,
    ) -> anyhow::Result<()> {
        let (key_alone, deeper) = match node {
            Node::Same(value) => return plain(text, &json!({ key: value }), indent),
            Node::Map(_) => (key, indent + 2),
            Node::List(_) => (key, indent),
            Node::Set(setting, before) => {
                return self.set(text, key, setting, before, indent, scope);
            }
        };
        let mut line = String::new();
        plain(&mut line, &json!({ key_alone: null }), indent)?;
        let line = line.trim_end().trim_end_matches("null").trim_end();
        writeln!(text, "{line}")?;
        self.node(text, node, deeper, scope)
    }

    /// What the values set, or else what is there without them.
    fn set(
        &self,
        text: &mut String,
        key: &str,
        setting: &Setting,
        before: &Choice,
        indent: usize,
        scope: &Cases,
    ) -> anyhow::Result<()> {
        let value = format!(".Values.manager.{}", setting.value);
        let deeper = indent + 2;
        match setting.form {
            Form::Items | Form::Entries => self.extended(text, key, setting, before, indent, scope),
            Form::Scalar | Form::Tree => {
                writeln!(text, "{{{{- if not (kindIs \"invalid\" {value}) }}}}")?;
                if setting.form == Form::Scalar {
                    writeln!(text, "{:indent$}{key}: {{{{ toJson {value} }}}}", "")?;
                } else {
                    writeln!(
                        text,
                        "{:indent$}{key}:\n{:deeper$}{{{{- toYaml {value} | nindent {deeper} }}}}",
                        "", ""
                    )?;
                }
                if !before.variants.is_empty() {
                    writeln!(text, "{{{{- else }}}}")?;
                    self.choice(text, before, scope, &mut |text, node, scope| {
                        self.entry(text, key, node, indent, scope)
                    })?;
                }
                writeln!(text, "{{{{- end }}}}")?;
                Ok(())
            }
        }
    }

    /// The items or entries of `config`, those of `config/chart`, and behind them those of the values.
    fn extended(
        &self,
        text: &mut String,
        key: &str,
        setting: &Setting,
        before: &Choice,
        indent: usize,
        scope: &Cases,
    ) -> anyhow::Result<()> {
        let value = format!(".Values.manager.{}", setting.value);
        let own = own(before)?;
        let cases = before.cases();
        let added = self.own.get(setting.value).map(Vec::as_slice);
        let added = added.unwrap_or_default();
        let is_conditional = added.is_empty();
        match condition(&cases, scope, self.switches).filter(|_| is_conditional) {
            Some(_) if cases.is_empty() => writeln!(text, "{{{{- if {value} }}}}")?,
            Some(expression) => writeln!(text, "{{{{- if or ({expression}) {value} }}}}")?,
            None => {}
        }
        writeln!(text, "{:indent$}{key}:", "")?;
        let mut keys = String::new();
        let below = if setting.form == Form::Items {
            indent
        } else {
            indent + 2
        };
        let chart = self.marks.names.chart();
        let replaced = |known: &str| format!("include \"{chart}.names\" (list {value} {known})");
        for (name, part) in &own {
            if added.iter().any(|item| item_name(item) == Some(name)) {
                continue;
            }
            let known = literal(&self.marks.names.plain(name));
            let replaced = replaced(&known);
            if setting.form == Form::Items {
                writeln!(text, "{{{{- if not ({replaced}) }}}}")?;
            } else {
                write!(keys, " {known}")?;
            }
            self.choice(text, part, scope, &mut |text, node, scope| {
                if setting.form == Form::Items {
                    self.item(text, node, indent, scope)
                } else {
                    self.entry(text, name, node, below, scope)
                }
            })?;
            if setting.form == Form::Items {
                writeln!(text, "{{{{- end }}}}")?;
            }
        }
        for item in added {
            let known = literal(item_name(item).unwrap_or_default());
            let item = literal(&yaml::render(&[json!([item])])?);
            writeln!(
                text,
                "{{{{- if not ({}) }}}}\n{:below$}{{{{- tpl {item} $ | trim | nindent {below} }}}}\n{{{{- end }}}}",
                replaced(&known),
                ""
            )?;
        }
        let added = if keys.is_empty() {
            value
        } else {
            format!("omit {value}{keys}")
        };
        // As in kubebuilder's charts, a flag may have actions: `--x={{ .Release.Namespace }}`.
        let yaml = match setting.value {
            "args" => "tpl (toYaml .) $",
            _ => "toYaml .",
        };
        writeln!(
            text,
            "{{{{- with {added} }}}}\n{:below$}{{{{- {yaml} | nindent {below} }}}}\n{{{{- end }}}}",
            ""
        )?;
        if is_conditional && !scope.is_subset(&cases) {
            writeln!(text, "{{{{- end }}}}")?;
        }
        Ok(())
    }

    /// The dash has a line of its own if the item is not the same in all cases, because its first line may be conditional.
    fn item(
        &self,
        text: &mut String,
        node: &Node,
        indent: usize,
        scope: &Cases,
    ) -> anyhow::Result<()> {
        if let Node::Same(value) = node {
            return plain(text, &json!([value]), indent);
        }
        writeln!(text, "{:indent$}-", "")?;
        self.node(text, node, indent + 2, scope)
    }
}

/// A value whose strings that are only a mark say so.
fn alone(value: &Value) -> Value {
    let is_mark = |text: &str| Names::is_mark(text) || RoleNamespaces::key(text).is_some();
    match value {
        Value::String(text) if is_mark(text) => Value::String(format!("{text}{ALONE}")),
        Value::Array(items) => items.iter().map(alone).collect(),
        Value::Object(parts) => {
            let parts = parts.iter().map(|(key, part)| (key.clone(), alone(part)));
            Value::Object(parts.collect())
        }
        other => other.clone(),
    }
}

/// Block YAML, indented. Lines that are empty stay so.
fn plain(text: &mut String, value: &Value, indent: usize) -> anyhow::Result<()> {
    let rendered = yaml::render(&[alone(value)]).context("cannot write the chart")?;
    for line in rendered.lines() {
        if line.is_empty() {
            text.push('\n');
        } else {
            writeln!(text, "{:indent$}{line}", "")?;
        }
    }
    Ok(())
}

/// The items or entries of a list or mapping with their names: the flag of an argument, the name of any other item, the key of an entry.
fn own(choice: &Choice) -> anyhow::Result<Vec<(String, Choice)>> {
    let mut variants = choice.variants.iter().map(|(cases, node)| {
        let mut node = node.clone();
        open(&mut node, cases);
        node
    });
    let parts = match variants.next() {
        None => Vec::new(),
        Some(Node::Map(parts)) => parts,
        Some(Node::List(items)) => items.into_iter().map(|item| (name(&item), item)).collect(),
        Some(_) => bail!("the Deployment has a part that a chart cannot add to"),
    };
    if variants.next().is_some() {
        bail!("a component reorders a list of the Deployment, which a chart cannot add to");
    }
    Ok(parts)
}

/// A string of Go in which no mark of kbr's own is expanded.
fn literal(text: &str) -> String {
    quote::go(text).replace("kbr", "\\u006bbr")
}

/// The flag of an argument, or the name of any other item.
fn item_name(item: &Value) -> Option<&str> {
    match item {
        Value::String(text) => text.split('=').next(),
        item => item["name"].as_str(),
    }
}

fn name(item: &Choice) -> String {
    let named = |node: &Node| match node {
        Node::Same(value) => item_name(value).map(str::to_owned),
        Node::Map(parts) => {
            let (_, part) = parts.iter().find(|(key, _)| key == "name")?;
            match part.variants.as_slice() {
                [(_, Node::Same(value))] => value.as_str().map(str::to_owned),
                _ => None,
            }
        }
        _ => None,
    };
    item.variants
        .iter()
        .find_map(|(_, node)| named(node))
        .unwrap_or_default()
}
