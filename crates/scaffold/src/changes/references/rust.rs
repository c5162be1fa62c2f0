//! Mentions of removed modules and types in Rust files.

use std::collections::{BTreeMap, BTreeSet};

use super::Mention;
use crate::changes::Change;
use crate::rust::comments::lex;
use crate::rust::exports::exports;
use crate::rust::uses::{globs, resolve, uses};
use crate::rust::{Lines, is_rust};

/// The crate of the types, as the operator calls it.
const API: &str = "api";

/// Paths of items that are removed.
#[derive(Debug)]
pub struct Gone {
    /// `operator::controllers::captain`
    modules: Vec<String>,
    /// `api::crew::v1::Captain`: public items that the module above exports.
    items: Vec<String>,
}

impl Gone {
    /// What disappears with the removed files. Other crates may call the crate of the types by its own name, `api`.
    pub fn new(removed: &[&Change], api: &str) -> Self {
        let (mut modules, mut items) = (Vec::new(), Vec::new());
        for change in removed.iter().filter(|it| is_rust(&it.path)) {
            let module = module(&change.path);
            let text = change.before.as_deref().unwrap_or_default();
            // A version exports everything that its kinds' modules have.
            if let Some((parent, _)) = module.rsplit_once("::").filter(|_| is_of_api(&module)) {
                let exports = exports(&String::from_utf8_lossy(text));
                let names = exports.items.iter();
                items.extend(names.map(|name| format!("{parent}::{name}")));
                let macros = exports.macros.iter();
                items.extend(macros.map(|name| format!("{API}::{name}")));
            }
            modules.push(module);
        }
        for paths in [&mut modules, &mut items] {
            let of_api = paths.iter().filter(|path| is_of_api(path));
            let renamed = of_api.map(|path| path.replacen(API, api, 1));
            let renamed: Vec<String> = renamed.collect();
            paths.extend(renamed);
        }
        Gone { modules, items }
    }

    /// Each line of the file at `path` that mentions them.
    pub fn mentions(&self, path: &str, text: &str) -> Vec<Mention> {
        // cargo reports unterminated strings.
        let Ok(code) = lex(text).map(|it| it.code) else {
            return Vec::new();
        };
        let mut file = File::new(path, &code);
        // What stays in the folder of a removed module, such as the types of an imported kind, is in no crate.
        let is_around = |gone: &String| file.module.starts_with(&format!("{gone}::"));
        if self.modules.iter().any(is_around) {
            return Vec::new();
        }
        let gone = || self.modules.iter().chain(&self.items);
        let is_near =
            |glob: &String| gone().any(|gone| gone.starts_with(glob) || glob.starts_with(gone));
        file.globs.retain(is_near);
        let (numbers, lines) = (Lines::new(&code), text.lines().collect::<Vec<_>>());
        let mut mentions = Vec::new();
        let mut last = 0;
        for (at, written) in paths(&code) {
            let Some(item) = self.find(&file, &code[..at], written) else {
                continue;
            };
            let number = numbers.number(at);
            if number != last {
                last = number;
                let line = lines.get(number - 1).copied().unwrap_or_default().trim();
                let item = item.trim_start_matches("operator::");
                mentions.push(Mention {
                    number,
                    line: line.to_owned(),
                    what: format!("uses `{item}`"),
                    help: format!(
                        "change `{path}` so that it compiles without it, then run the command again"
                    ),
                });
            }
        }
        mentions
    }

    /// The removed module or item that `written` means, after the code `before`.
    fn find(&self, file: &File, before: &str, written: &str) -> Option<&String> {
        let is_alone = !written.contains("::");
        let written = written.trim_end_matches(':');
        let is_declared = before.trim_end().ends_with("mod");
        let within = |full: &str, of: &str| {
            let rest = full.strip_prefix(of);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        let is_local = is_alone && !file.uses.contains_key(written);
        let of_modules = self.modules.iter().filter(|_| !is_local || is_declared);
        let mut all = of_modules.chain(self.items.iter().filter(|_| !is_declared));
        all.find(|gone| file.meanings(written).any(|full| within(&full, gone)))
    }
}

/// The module of a file, with a name for each crate of a project.
fn module(path: &str) -> String {
    let crates = [
        ("api/src/", API),
        ("src/", "operator"),
        ("tests/integration/", "integration"),
    ];
    let of_crate = crates
        .iter()
        .find_map(|(folder, name)| Some((*name, path.strip_prefix(folder)?)));
    let (name, file) = of_crate.unwrap_or(("other", path));
    let file = file.trim_end_matches(".rs");
    let parts = file
        .split('/')
        .filter(|part| !["mod", "lib", "main"].contains(part));
    let parts: Vec<&str> = std::iter::once(name).chain(parts).collect();
    parts.join("::")
}

fn is_of_api(module: &str) -> bool {
    module.split("::").next() == Some(API)
}

/// A file that remains.
struct File {
    module: String,
    uses: BTreeMap<String, String>,
    /// The modules of which everything is imported.
    globs: BTreeSet<String>,
}

impl File {
    fn new(path: &str, code: &str) -> Self {
        let mut file = File {
            module: module(path),
            uses: uses(code),
            globs: BTreeSet::new(),
        };
        let globs = globs(code);
        file.globs = globs.iter().map(|glob| file.absolute(glob)).collect();
        file
    }

    /// The full paths that `written` may have: by the `use` items, relative to this module, and from globs.
    fn meanings(&self, written: &str) -> impl Iterator<Item = String> {
        let resolved = resolve(&self.uses, written);
        let first = written.split("::").next().unwrap_or_default();
        let own = [&self.module];
        let modules = own.into_iter().chain(&self.globs);
        let modules = modules.filter(|_| !self.uses.contains_key(first));
        let below = modules.map(move |module| format!("{module}::{written}"));
        std::iter::once(self.absolute(&resolved)).chain(below)
    }

    /// `path` without `crate`, `self` and `super`.
    fn absolute(&self, path: &str) -> String {
        let (first, rest) = path.split_once("::").unwrap_or((path, ""));
        let parent = |module: &str| {
            module
                .rsplit_once("::")
                .map(|(parent, _)| parent.to_owned())
        };
        let root = self.module.split("::").next().unwrap_or_default();
        let base = match first {
            "crate" => root.to_owned(),
            "self" => self.module.clone(),
            "super" => parent(&self.module).unwrap_or_default(),
            _ => return path.to_owned(),
        };
        if rest.is_empty() {
            return base;
        }
        match rest.strip_prefix("super::") {
            Some(rest) if first == "super" => {
                format!("{}::{rest}", parent(&base).unwrap_or_default())
            }
            _ => format!("{base}::{rest}"),
        }
    }
}

/// The paths in `code`, such as `a::b`, or `a::` before a group or a glob, each with its position.
fn paths(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_end = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':' | '#'));
    let mut end = 0;
    code.split_inclusive(is_end).filter_map(move |piece| {
        let start = end;
        end += piece.len();
        let written = piece.trim_end_matches(is_end);
        let ahead = written.len() - written.trim_start_matches(':').len();
        let path = written.trim_start_matches(':');
        let is_name = path.starts_with(|c: char| c.is_alphabetic() || c == '_');
        is_name.then_some((start + ahead, path))
    })
}

#[cfg(test)]
mod tests;
