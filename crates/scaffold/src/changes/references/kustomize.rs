//! Mentions of removed files in kustomizations.

use super::Mention;
use crate::changes::Change;

/// The names under which kustomize reads its file in a folder.
const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Whether a file of this name is a kustomization.
pub fn is_kustomization(name: &str) -> bool {
    NAMES.contains(&name)
}

/// The lines of the kustomization at `path` that name a removed file, or a folder whose kustomization is removed.
pub fn mentions(path: &str, text: &str, removed: &[&Change]) -> Vec<Mention> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let goes = |target: &str| {
        let is_target = |gone: &str| {
            let of_folder = gone
                .rsplit_once('/')
                .filter(|(_, name)| is_kustomization(name));
            gone == target || of_folder.is_some_and(|(folder, _)| folder == target)
        };
        removed.iter().any(|change| is_target(&change.path))
    };
    let mut mentions = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let Some(target) = target(line).and_then(|written| join(folder, written)) else {
            continue;
        };
        if goes(&target) {
            mentions.push(Mention {
                number,
                line: line.trim().to_owned(),
                what: format!("needs `{target}`"),
                help: format!("remove that line of `{path}` first"),
            });
        }
    }
    mentions
}

/// The path in a line of a kustomization: an item of a list, or the value of `path`.
fn target(line: &str) -> Option<&str> {
    let line = line.trim();
    let item = line.strip_prefix("- ").map(str::trim_start);
    let text = item.unwrap_or(line).trim_start_matches('{').trim_start();
    let value = match text.strip_prefix("path:") {
        Some(path) => path,
        None if item.is_some() => text,
        None => return None,
    };
    let value = value.split(" #").next().unwrap_or_default();
    let value = value.split([',', '}']).next().unwrap_or_default();
    let value = value.trim().trim_matches(['"', '\'']);
    (!value.is_empty() && !value.contains(": ")).then_some(value)
}

/// `path`, relative to `folder`, as a path in the project; `None` if it leaves the project or is a URL.
fn join(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::Verb;

    fn found(path: &str, text: &str) -> usize {
        let change = |path: &str| Change {
            path: path.to_owned(),
            verb: Verb::Remove,
            before: None,
            after: Vec::new(),
        };
        let gone = [
            change("config/crd/bases/a.yaml"),
            change("config/webhook/kustomization.yaml"),
        ];
        mentions(path, text, &gone.iter().collect::<Vec<_>>()).len()
    }

    #[test]
    fn a_removed_file_or_folder_is_found_from_any_kustomization() {
        for (path, line) in [
            ("config/crd/kustomization.yaml", "  - bases/a.yaml # mine"),
            ("config/crd/kustomization.yaml", "- \"./bases/a.yaml\""),
            (
                "config/crd/kustomization.yaml",
                "- { path: bases/a.yaml, target: { kind: X } }",
            ),
            ("config/crd/kustomization.yaml", "  - path: bases/a.yaml"),
            ("config/crd/kustomization.yaml", "    path: bases/a.yaml"),
            ("config/default/kustomization.yaml", "- ../webhook/"),
            ("kustomization.yaml", "- config/webhook"),
            ("overlays/x/kustomization.yml", "- ../../config/webhook"),
        ] {
            assert_eq!(found(path, line), 1, "{line}");
        }
    }

    #[test]
    fn other_lines_are_not_found() {
        for line in [
            "# - ../webhook",
            "- ../webhook-self-signed",
            "- ../crd",
            "- ../../../config/webhook/x",
            "components:",
            "name: ../webhook",
            "- https://example.com/config/webhook",
        ] {
            assert_eq!(
                found("config/default/kustomization.yaml", line),
                0,
                "{line}"
            );
        }
    }
}
