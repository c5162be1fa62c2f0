//! Comments -> markers: `// +kbr:rbac:groups=apps,resources=deployments,verbs=get;list`.

mod arguments;

use crd_lint::nearest;

use super::problem::Problem;
use arguments::parse;
use kbr_scaffold::rust::Source;
use kbr_scaffold::rust::comments::Comment;

/// The names of known markers: `+kbr:<name>`.
const KNOWN: [&str; 5] = [
    "lint",
    "rbac",
    "scaffold",
    "webhook",
    "webhookconfiguration",
];

/// A marker that a generator reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// `src/main.rs:12`.
    pub at: String,
    /// `rbac`, `webhook` or `webhookconfiguration`.
    pub name: String,
    /// Names and values, in order.
    pub arguments: Vec<(String, Vec<String>)>,
    /// Ids of findings that are allowed here: by `// +kbr:lint:allow=…` in the same comment, or by PROJECT.
    pub allowed: Vec<String>,
}

impl Marker {
    /// Removes the allowed problems, and adds the marker's location to the others.
    pub fn problems(&self, found: Vec<Problem>) -> Vec<Problem> {
        let allows = |problem: &Problem| {
            let id = problem.id();
            id.is_some_and(|id| self.allowed.iter().any(|allowed| allowed == id))
        };
        let left = found.into_iter().filter(|problem| !allows(problem));
        left.map(|problem| problem.at(&self.at)).collect()
    }
}

/// Markers that add to a manifest, or allow findings about it.
const READ: [&str; 4] = ["lint", "rbac", "webhook", "webhookconfiguration"];

/// The arguments that are lists of names, in which there are no separators.
const LISTS: [&str; 6] = [
    "admissionReviewVersions",
    "groups",
    "resourceNames",
    "resources",
    "verbs",
    "versions",
];

/// Reads the markers of one Rust file; adds what is invalid to `problems`.
/// `+kubebuilder:<name>` is the same marker, so that a project ported from Go keeps its comments.
pub fn markers(source: &Source, problems: &mut Vec<Problem>) -> Vec<Marker> {
    let file = &source.path;
    let (comments, blocks) = match &source.lexed {
        Ok(lexed) => (&lexed.comments, &lexed.blocks),
        Err(open) => {
            let text = format!(
                "`{file}:{}`: this {} is not terminated",
                open.line, open.what
            );
            problems.push(Problem::new(text));
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for block in comments.chunk_by(|above, below| above.line + 1 == below.line) {
        let mut here = Vec::new();
        for comment in block {
            let at = format!("{file}:{}", comment.line);
            match marker(&at, comment) {
                Ok(marker) => here.extend(marker),
                Err(problem) => problems.push(problem),
            }
        }
        let allowed = allowed(&here);
        for marker in &mut here {
            marker.allowed.clone_from(&allowed);
        }
        found.append(&mut here);
    }
    let markers = blocks
        .iter()
        .filter_map(|it| Some((it, written(&it.text)?)));
    problems.extend(
        markers
            .filter(|(_, (name, _))| READ.contains(name))
            .map(|(comment, _)| {
                let text = format!(
                    "`{file}:{}`: a marker in a block comment has no effect",
                    comment.line
                );
                Problem::new(text).help(format!("write `// {}`, or remove it", comment.text))
            }),
    );
    found
}

/// The name and the arguments of what is written like a marker that is read.
fn written(text: &str) -> Option<(&str, &str)> {
    let rest = text
        .strip_prefix("+kbr:")
        .or_else(|| text.strip_prefix("+kubebuilder:"))?;
    let (name, arguments) = rest.split_once(':').unwrap_or((rest, ""));
    Some((name.trim(), arguments))
}

/// The ids that the markers of one comment allow.
fn allowed(markers: &[Marker]) -> Vec<String> {
    let lint = markers.iter().filter(|marker| marker.name == "lint");
    let arguments = lint.flat_map(|marker| &marker.arguments);
    let allow = arguments.filter(|(key, _)| key == "allow");
    allow.flat_map(|(_, ids)| ids).cloned().collect()
}

fn marker(at: &str, comment: &Comment) -> Result<Option<Marker>, Problem> {
    let Some((name, arguments)) = written(&comment.text) else {
        return almost(at, comment).map_or(Ok(None), Err);
    };
    if comment.text.starts_with("+kbr:") && !KNOWN.contains(&name) {
        let text = format!("`{at}`: unknown marker `+kbr:{name}`");
        return Err(Problem::new(text).did_you_mean(nearest(name, KNOWN)));
    }
    if !READ.contains(&name) {
        return Ok(None);
    }
    if comment.doc {
        let text = format!(
            "`{at}`: a marker in a doc comment would end up in rustdoc and in descriptions of CRDs"
        );
        return Err(Problem::new(text).help(format!("write `// {}`", comment.text)));
    }
    let arguments = parse(arguments);
    let arguments = arguments.and_then(|all| joined(&all).map_or(Ok(all), Err));
    match arguments {
        Ok(arguments) => Ok(Some(Marker {
            at: at.to_owned(),
            name: name.to_owned(),
            arguments,
            allowed: Vec::new(),
        })),
        Err(reason) => Err(Problem::new(format!("`{at}`: {reason}"))),
    }
}

/// Quotes make one name of a list.
fn joined(arguments: &[(String, Vec<String>)]) -> Option<String> {
    let mut lists = arguments
        .iter()
        .filter(|(name, _)| LISTS.contains(&&**name));
    lists.find_map(|(name, values)| {
        let value = values
            .iter()
            .find(|value| value.contains([';', ',', ' ']))?;
        let plain = value.replace([',', ' '], ";");
        let parts: Vec<&str> = plain.split(';').filter(|it| !it.is_empty()).collect();
        let parts = parts.join(";");
        Some(format!(
            "`{name}=\"{value}\"` is one name: write `{name}={parts}`, without the quotes"
        ))
    })
}

/// A problem for a comment that is almost a marker, and would be ignored: `+ kbr:rbac:…`, `kbr:rbac:…`.
fn almost(at: &str, comment: &Comment) -> Option<Problem> {
    let bare = comment.text.trim_start_matches(['+', '@', ' ']);
    let (name, _) = bare.strip_prefix("kbr:")?.split_once(':')?;
    if comment.doc || !KNOWN.contains(&name) {
        return None;
    }
    let text = format!(
        "`{at}`: `{}` is not a marker, and has no effect",
        comment.text
    );
    Some(Problem::new(text).help(format!("write `// +{bare}`, or put text before it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(source: &str) -> Vec<String> {
        let mut problems = Vec::new();
        assert_eq!(markers(&Source::new("a.rs", source), &mut problems), []);
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn both_prefixes_are_read_and_other_markers_are_not() {
        let source = "// +kbr:rbac:a=b\n//+kubebuilder:rbac:c=d\n// +kubebuilder:object:root=true\n// +kbr:scaffold:x\n// text\n";
        let mut problems = Vec::new();
        let found = markers(&Source::new("a.rs", source), &mut problems);
        let places: Vec<&str> = found.iter().map(|marker| marker.at.as_str()).collect();
        assert_eq!(places, ["a.rs:1", "a.rs:2"]);
        assert!(problems.is_empty());
    }

    #[test]
    fn an_almost_correct_marker_is_rejected_and_a_sentence_is_not() {
        for source in ["// + kbr:rbac:a=b", "// kbr:rbac:a=b", "//+ kbr:rbac:a=b"] {
            let [problem] = &problems_of(source)[..] else {
                panic!("one problem: {source}");
            };
            assert!(
                problem.contains("help: write `// +kbr:rbac:a=b`"),
                "{problem}"
            );
        }
        let words = "// kbr: a tool\n// see kbr:rbac:a=b\n// // +kbr:rbac:a=b\n// kbr:other:x\n";
        assert!(problems_of(words).is_empty());
    }

    #[test]
    fn a_marker_in_a_doc_comment_is_rejected_with_the_reason() {
        let [problem] = &problems_of("/// +kbr:rbac:a=b")[..] else {
            panic!("one problem");
        };
        assert!(
            problem.contains("`a.rs:1`") && problem.contains("doc comment"),
            "{problem}"
        );
        assert!(
            problem.contains("help: write `// +kbr:rbac:a=b`"),
            "{problem}"
        );
        assert_eq!(problems_of("/** text\n * +kbr:rbac:a=b\n */").len(), 1);
    }

    #[test]
    fn a_marker_quoted_in_a_doc_comment_is_text() {
        assert!(problems_of("/// Write `+kbr:rbac:a=b`.\n/// // +kbr:rbac:a=b").is_empty());
    }

    #[test]
    fn comments_that_are_written_for_others_are_no_markers() {
        let mut lines = Vec::new();
        for before in [
            "", "+", "@", " + ", "+@ +", "++", "// ", "/", "!", "*", "a ",
        ] {
            for name in ["kbr", "kubebuilder", "kb", "+kbr"] {
                for rest in [
                    ":rbac:groups=a",
                    ": rbac:a=b",
                    "rbac:",
                    ":scaffold:x",
                    ":x:y",
                ] {
                    lines.push(format!("{before}{name}{rest}"));
                }
            }
        }
        for line in lines {
            let comment = kbr_scaffold::quote::rust_comment(&line);
            assert_eq!(problems_of(&comment), [""; 0], "{comment}");
            if kbr_scaffold::quote::is_doc(&line) {
                let comment = kbr_scaffold::quote::rust_doc(&line, "");
                assert_eq!(problems_of(&comment), [""; 0], "{comment}");
            }
        }
    }

    #[test]
    fn a_marker_in_a_block_comment_is_rejected_unless_it_is_commented_out() {
        for source in [
            "\n/* +kbr:rbac:a=b */",
            "/*\n * +kbr:rbac:a=b\n */",
            "/*\n+kubebuilder:rbac:a=b */",
        ] {
            let [problem] = &problems_of(source)[..] else {
                panic!("one problem: {source}");
            };
            let text =
                "`a.rs:2`: a marker in a block comment has no effect\n    help: write `// +k";
            assert!(problem.starts_with(text), "{problem}");
        }
        let words =
            "/* // +kbr:rbac:a=b */ /* see +kbr:rbac:a=b */ /* +kubebuilder:object:root=true */";
        assert_eq!(problems_of(words), [""; 0]);
    }

    #[test]
    fn quotes_around_a_list_are_rejected() {
        for (marker, right) in [
            ("rbac:groups=\"apps;batch\"", "groups=apps;batch"),
            ("rbac:groups=apps,resources=\"a, b\"", "resources=a;b"),
            ("rbac:verbs={\"get;list\"}", "verbs=get;list"),
            ("webhook:versions=`v1;v2`", "versions=v1;v2"),
        ] {
            let [problem] = &problems_of(&format!("// +kbr:{marker}"))[..] else {
                panic!("one problem: {marker}");
            };
            let text = format!("is one name: write `{right}`, without the quotes");
            assert!(
                problem.starts_with("`a.rs:1`: ") && problem.contains(&text),
                "{problem}"
            );
        }
    }

    #[test]
    fn an_unknown_kbr_marker_is_rejected_with_the_nearest_name() {
        let [problem] = &problems_of("// +kbr:rbca:a=b")[..] else {
            panic!("one problem");
        };
        assert!(problem.contains("did you mean `rbac`"), "{problem}");
    }

    #[test]
    fn an_unreadable_file_is_a_problem_instead_of_a_smaller_role() {
        assert!(problems_of("\n\"")[0].contains("`a.rs:2`: this string is not terminated"));
    }
}
