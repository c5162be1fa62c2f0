//! The scope of a marker: the part of the file in which a line counts as present.
//!
//! | file | scope of a marker |
//! |---|---|
//! | Rust | the outermost block around it; outside of every block, the items of the file itself |
//! | TOML | its table; a key counts whatever its value |
//! | YAML | the list that it stands in |
//! | any other | the whole file |

use std::ops::Range;

use super::marker::is_rust;
use crate::comments::code;

/// Whether the scope of the marker in line `at` (from 0) has `line` as more than words: not in a string, nor commented out as a block.
pub fn has(path: &str, lines: &[String], at: usize, line: &str) -> bool {
    let line = line.trim();
    match path.rsplit_once('.').map(|(_, end)| end) {
        _ if is_rust(path) => has_in_rust(lines, at, line),
        Some("toml") => {
            let key = key(line);
            let mut scope = lines[table(lines, at)].iter();
            scope.any(|have| have.trim() == line || (key.is_some() && self::key(have) == key))
        }
        Some("yaml" | "yml") => lines[list(lines, at)]
            .iter()
            .any(|have| have.trim() == line),
        _ => lines.iter().any(|have| have.trim() == line),
    }
}

fn has_in_rust(lines: &[String], at: usize, line: &str) -> bool {
    let same = |index: &usize| lines[*index].trim() == line;
    let mut candidates = (0..lines.len()).filter(same).peekable();
    if candidates.peek().is_none() {
        return false;
    }
    let text = lines.concat();
    // cargo reports unterminated strings.
    let Ok(code) = code(&text) else { return true };
    let code: Vec<&str> = code.lines().collect();
    let blocks = outermost_blocks(&code);
    let block = |index: usize| blocks.iter().position(|block| block.contains(&index));
    let is_code = |index: usize| {
        line.starts_with("//") || code.get(index).is_some_and(|line| !line.trim().is_empty())
    };
    candidates.any(|index| block(index) == block(at) && is_code(index))
}

/// The lines inside of each block at the margin of a Rust file, without those that open and close it.
fn outermost_blocks(code: &[&str]) -> Vec<Range<usize>> {
    let (mut blocks, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, line) in code.iter().enumerate() {
        let before = depth;
        for character in line.chars() {
            match character {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        match (before, depth) {
            (0, 1..) => start = at + 1,
            (1.., 0) => blocks.push(start..at),
            _ => {}
        }
    }
    blocks
}

/// The TOML table around line `at`.
fn table(lines: &[String], at: usize) -> Range<usize> {
    let header = |line: &String| line.trim_start().starts_with('[');
    let start = lines[..at]
        .iter()
        .rposition(header)
        .map_or(0, |header| header + 1);
    let end = lines[at..]
        .iter()
        .position(header)
        .map_or(lines.len(), |end| at + end);
    start..end
}

/// The key of a line of TOML, with `-` for `_`: cargo takes them for the same in a crate's name.
fn key(line: &str) -> Option<String> {
    let (key, _) = line.split_once('=')?;
    let key = key.trim();
    let plain = !key.is_empty() && !key.starts_with('#');
    plain.then(|| key.trim_matches(['"', '\'']).replace('_', "-"))
}

/// The YAML list around line `at`: all around it that is indented as deep, comments and blank lines aside.
fn list(lines: &[String], at: usize) -> Range<usize> {
    let depth = indentation(&lines[at]);
    let belongs = |line: &String| {
        let text = line.trim();
        let is_key = !text.starts_with('-') && (text.ends_with(':') || text.contains(": "));
        let inside = indentation(line) > depth || (indentation(line) == depth && !is_key);
        text.is_empty() || text.starts_with('#') || inside
    };
    let start = lines[..at]
        .iter()
        .rposition(|line| !belongs(line))
        .map_or(0, |end| end + 1);
    let end = lines[at + 1..].iter().position(|line| !belongs(line));
    start..end.map_or(lines.len(), |end| at + 1 + end)
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether `line` counts as being in the scope of the one line `# HERE` or `// HERE` of `text`.
    fn found(path: &str, text: &str, line: &str) -> bool {
        let lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        let at = lines.iter().position(|line| line.contains("HERE")).unwrap();
        has(path, &lines, at, line)
    }

    #[test]
    fn in_toml_the_scope_is_the_table() {
        let text =
            "[dependencies]\na = \"1\"\n# HERE\n\n[dev-dependencies]\nb = \"1\"\nc_d = \"1\"\n";
        assert!(found("Cargo.toml", text, "a = \"1\""));
        assert!(found("Cargo.toml", text, "a = { version = \"2\" }"));
        assert!(!found("Cargo.toml", text, "b = \"1\""));
        let text = text.replace("# HERE\n", "") + "# HERE\n";
        assert!(found("Cargo.toml", &text, "c-d = \"2\""));
        assert!(!found("Cargo.toml", &text, "a = \"1\""));
    }

    #[test]
    fn in_yaml_the_scope_is_the_list() {
        let text = "resources:\n  - ../rbac\n  # HERE\n# - ../crd\ncomponents:\n  - ../other\n";
        assert!(found("k.yaml", text, "- ../rbac"));
        assert!(!found("k.yaml", text, "- ../other"));
        assert!(!found("k.yaml", text, "- ../crd"), "a comment");
        let flat = "resources:\n- ../rbac\n# HERE\n- ../crd\n\ncomponents:\n- ../other\n";
        for (line, expected) in [
            ("- ../rbac", true),
            ("- ../crd", true),
            ("- ../other", false),
        ] {
            assert_eq!(found("k.yaml", flat, line), expected, "{line}");
        }
    }

    #[test]
    fn in_rust_the_scope_is_the_outermost_block() {
        let text = "mod a;\n\nfn main() {\n    if x {\n        b();\n    }\n    // HERE\n}\n\nmod tests {\n    c();\n}\n";
        assert!(
            found("main.rs", text, "b();"),
            "in a block of the same function"
        );
        assert!(!found("main.rs", text, "c();"), "in another block");
        assert!(!found("main.rs", text, "mod a;"), "outside");
        let text = "// HERE\nmod a;\nmod tests {\n    use b;\n}\nconst C: &str = \"\nuse d;\n\";\n";
        assert!(found("main.rs", text, "mod a;"));
        assert!(!found("main.rs", text, "use b;"), "in a block");
        assert!(!found("main.rs", text, "use d;"), "in a string");
    }

    #[test]
    fn in_other_files_the_scope_is_the_whole_file() {
        assert!(found("Makefile", "a\n# HERE\n\nb:\n\tc\n", "c"));
    }
}
