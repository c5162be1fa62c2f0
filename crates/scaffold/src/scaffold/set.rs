//! A set of templates, parsed once and rendered for many kinds.

use anyhow::{Context as _, bail};
use serde::Serialize;
use tera::{Context, Tera, Value};

use super::{Form, Part, Paths, Policy, form};
use crate::{edit, edited};

/// The files of one folder `scaffolds/v1/<set>`.
pub struct Set<'a> {
    name: String,
    /// Path in the set and text, sorted by path.
    files: Vec<(&'a str, &'a str)>,
    tera: Tera,
}

impl<'a> Set<'a> {
    /// Parses the templates of the set `name`.
    ///
    /// # Errors
    /// Tera's error about a template.
    pub fn parse(name: &str, files: Vec<(&'a str, &'a str)>) -> anyhow::Result<Self> {
        let mut tera = Tera::new();
        // kbr writes no HTML.
        tera.autoescape_on(Vec::<&str>::new());
        let texts = files.iter().filter(|(path, _)| is_template(path));
        tera.add_raw_templates(texts.copied().collect::<Vec<_>>())
            .with_context(|| format!("in the scaffold `{name}`"))?;
        Ok(Set {
            name: name.to_owned(),
            files,
            tera,
        })
    }

    /// Renders the files at `paths` with the fields of `vars`, sorted by path.
    ///
    /// # Errors
    /// Names the template and tera's error: a variable that is not in `vars`, a section without its marker.
    pub fn render(&self, vars: &impl Serialize, paths: Paths) -> anyhow::Result<Vec<Part>> {
        let context = Context::from_serialize(vars).context("the variables of the templates")?;
        let mut parts = Vec::new();
        for (path, text) in &self.files {
            let rendered = self
                .file(path, text, &context, paths)
                .with_context(|| format!("in the scaffold `{}/{path}`", self.name))?;
            parts.extend(rendered);
        }
        Ok(parts)
    }

    fn file(
        &self,
        template: &str,
        text: &str,
        context: &Context,
        paths: Paths,
    ) -> anyhow::Result<Vec<Part>> {
        let (form, path) = form(template);
        let path = filled(path, context)?;
        if !paths.have(&path) {
            return Ok(Vec::new());
        }
        let text = if is_template(template) {
            edited::with_checksum(self.tera.render(template, context)?)
        } else {
            text.to_owned()
        };
        if is_template(template) && text.trim().is_empty() {
            return Ok(Vec::new());
        }
        let policy = match form {
            Form::Insert => return sections(&path, &text),
            Form::Copied | Form::Owned => Policy::Owned,
            Form::Once => Policy::Once,
            Form::Generated => Policy::Generated,
        };
        Ok(vec![Part::Whole { path, policy, text }])
    }
}

fn is_template(path: &str) -> bool {
    form(path).0 != Form::Copied
}

/// `path` with the values of its variables. It does not use tera, which would be too slow for the paths of every table of PROJECT.
fn filled(path: &str, context: &Context) -> anyhow::Result<String> {
    let mut filled = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after
            .split_once("}}")
            .context("a variable in the path is not closed")?;
        let value = context.get(name.trim()).and_then(Value::as_str);
        filled.push_str(before);
        filled.push_str(value.with_context(|| format!("no variable `{name}` for the path"))?);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// One [`Part::Lines`] for each section that has lines.
fn sections(path: &str, text: &str) -> anyhow::Result<Vec<Part>> {
    let mut sections: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        match (edit::marker_name(line), sections.last_mut()) {
            (Some(marker), _) => sections.push((marker, String::new())),
            (None, Some((_, lines))) => lines.extend([line, "\n"]),
            (None, None) if line.trim().is_empty() => {}
            (None, None) => bail!("`{}` is before the first marker", line.trim()),
        }
    }
    let filled = sections
        .into_iter()
        .filter(|(_, lines)| !lines.trim().is_empty());
    Ok(filled
        .map(|(heading, lines)| {
            let once = heading.strip_suffix(" once");
            Part::Lines {
                path: path.to_owned(),
                marker: once.unwrap_or(heading).to_owned(),
                once: once.is_some(),
                lines: format!("{}\n", lines.trim_matches('\n')),
            }
        })
        .collect())
}
