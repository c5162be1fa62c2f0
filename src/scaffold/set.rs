//! A set of templates, parsed once and rendered for many kinds.

use anyhow::{Context as _, bail};
use serde::Serialize;
use tera::{Context, Tera};

use super::{Form, Part, Paths, Policy, form};
use crate::{edit, sample};

/// The files of one folder `scaffolds/v1/<set>`.
pub struct Set<'a> {
    name: String,
    /// Path in the set and text, in order of path.
    files: Vec<(&'a str, &'a str)>,
    tera: Tera,
}

impl<'a> Set<'a> {
    /// Parses the templates of the set `name`.
    ///
    /// # Errors
    /// What tera says about one of them.
    pub fn parse(name: &str, files: Vec<(&'a str, &'a str)>) -> anyhow::Result<Self> {
        let mut tera = Tera::new();
        // Nothing that kbr writes is HTML.
        tera.autoescape_on(Vec::<&str>::new());
        let texts = files.iter().filter(|(path, _)| is_template(path));
        let texts = texts.map(|(path, text)| (text_name(path), *text));
        let paths = files.iter().filter(|(path, _)| has_variable(path));
        let paths = paths.map(|(path, _)| (path_name(path), form(path).1));
        tera.add_raw_templates(texts.chain(paths).collect::<Vec<_>>())
            .with_context(|| format!("in the scaffold `{name}`"))?;
        Ok(Set {
            name: name.to_owned(),
            files,
            tera,
        })
    }

    /// Renders the files at `paths` with the fields of `vars`, in order of path.
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
        let path = if has_variable(template) {
            self.tera.render(&path_name(template), context)?
        } else {
            path.to_owned()
        };
        if !paths.have(&path) {
            return Ok(Vec::new());
        }
        let text = if is_template(template) {
            sample::sign(self.tera.render(&text_name(template), context)?)
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

fn has_variable(path: &str) -> bool {
    path.contains("{{")
}

fn text_name(path: &str) -> String {
    format!("text of {path}")
}

fn path_name(path: &str) -> String {
    format!("path of {path}")
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
