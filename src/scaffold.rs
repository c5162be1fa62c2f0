//! Embedded folder + variables -> plan. Pure.
//!
//! A set mirrors the project that it is written into. What a file's suffix means:
//!
//! | `x.tera` | rendered; the command owns the file |
//! |---|---|
//! | `x.once.tera` | rendered; shared, whoever comes first writes it, then it is the user's |
//! | `x.insert.tera` | lines for an existing file, in sections that each begin with the marker line that they go above |
//! | `x` | copied as it is; the command owns the file |
//!
//! `{{variable}}` works in folder and file names too. A template that renders to nothing but white space yields no file, a section
//! without lines no insertion: that is how one opts out.

mod home;

use anyhow::{Context as _, bail};
use include_dir::{Dir, include_dir};
use serde::Serialize;
use tera::{Context, Tera};

use crate::edit;
use crate::plan::Op;
use crate::sample;

pub use home::{Home, home};

static SCAFFOLDS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/scaffolds");

/// The layout of the projects that this kbr writes: the folder in `scaffolds/`.
pub const LAYOUT: &str = "v1";

/// Renders the set `scaffolds/v1/<set>/` with the fields of `vars`, in order of path.
///
/// # Errors
/// Names the template and what tera says about it: a variable that is not among `vars`, a section without its marker.
pub fn render(set: &str, vars: &impl Serialize) -> anyhow::Result<Vec<Op>> {
    let folder = format!("{LAYOUT}/{set}");
    let folder = SCAFFOLDS
        .get_dir(&folder)
        .with_context(|| format!("there is no scaffold `{folder}`"))?;
    let renderer = Renderer::new(vars)?;
    let mut ops = Vec::new();
    for (path, text) in files(folder)? {
        let planned = plan(&renderer, path, text)
            .with_context(|| format!("in the scaffold `{set}/{path}`"))?;
        ops.extend(planned);
    }
    Ok(ops)
}

/// How a scaffold's file gets into the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Copied,
    Owned,
    Once,
    Insert,
}

fn form(path: &str) -> (Form, &str) {
    let forms = [
        (".insert.tera", Form::Insert),
        (".once.tera", Form::Once),
        (".tera", Form::Owned),
    ];
    let known = forms
        .into_iter()
        .find_map(|(suffix, form)| Some((form, path.strip_suffix(suffix)?)));
    known.unwrap_or((Form::Copied, path))
}

/// Every file below `folder`: its path there and its text.
fn files<'a>(folder: &Dir<'a>) -> anyhow::Result<Vec<(&'a str, &'a str)>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.clone()];
    while let Some(next) = folders.pop() {
        folders.extend(next.dirs().cloned());
        for file in next.files() {
            let path = file.path().strip_prefix(folder.path())?;
            let path = path
                .to_str()
                .with_context(|| format!("the name of `{}` is not UTF-8", path.display()))?;
            let text = file
                .contents_utf8()
                .with_context(|| format!("`{path}` is not UTF-8"))?;
            found.push((path, text));
        }
    }
    found.sort_unstable();
    Ok(found)
}

struct Renderer {
    tera: Tera,
    context: Context,
}

impl Renderer {
    fn new(vars: &impl Serialize) -> anyhow::Result<Self> {
        let context = Context::from_serialize(vars).context("the variables of the templates")?;
        Ok(Renderer {
            tera: Tera::new(),
            context,
        })
    }

    fn text(&self, template: &str) -> anyhow::Result<String> {
        Ok(self.tera.render_str(template, &self.context, false)?)
    }

    fn path(&self, template: &str) -> anyhow::Result<String> {
        if template.contains("{{") {
            self.text(template)
        } else {
            Ok(template.to_owned())
        }
    }
}

fn plan(renderer: &Renderer, path: &str, text: &str) -> anyhow::Result<Vec<Op>> {
    let (form, path) = form(path);
    let path = renderer.path(path)?;
    if form == Form::Copied {
        return Ok(vec![Op::Create {
            path,
            text: text.to_owned(),
        }]);
    }
    let text = sample::sign(renderer.text(text)?);
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    Ok(match form {
        Form::Copied | Form::Owned => vec![Op::Create { path, text }],
        Form::Once => vec![Op::Once { path, text }],
        Form::Insert => sections(&path, &text)?,
    })
}

/// One [`Op::Insert`] for each section that has lines.
fn sections(path: &str, text: &str) -> anyhow::Result<Vec<Op>> {
    let mut sections: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        match (edit::marker_name(line), sections.last_mut()) {
            (Some(marker), _) => sections.push((marker, String::new())),
            (None, Some((_, lines))) => lines.extend([line, "\n"]),
            (None, None) if line.trim().is_empty() => {}
            (None, None) => bail!("`{}` stands before the first marker", line.trim()),
        }
    }
    let filled = sections
        .into_iter()
        .filter(|(_, lines)| !lines.trim().is_empty());
    Ok(filled
        .map(|(marker, lines)| Op::Insert {
            path: path.to_owned(),
            marker: marker.to_owned(),
            lines: format!("{}\n", lines.trim_matches('\n')),
        })
        .collect())
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
