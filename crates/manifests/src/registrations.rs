//! The kinds that the operator's controllers list and watch, as their registrations name them.

use super::kinds::Kinds;
use super::markers::Marker;
use kbr_scaffold::resource::target::Target;
use kbr_scaffold::rust::Source;
use kbr_scaffold::rust::uses::call;

/// Methods of a registration that make the manager list and watch a kind.
pub const WATCHING: [&str; 9] = [
    "controller",
    "owns",
    "owns_with",
    "owns_cached",
    "owns_cached_with",
    "watches",
    "watches_with",
    "reads",
    "reads_optional",
];

/// One call such as `.owns::<Job>(…)`.
pub struct Registration<'a> {
    pub line: usize,
    pub method: &'static str,
    /// `Job`, or `PartialObjectMeta<Job>`.
    pub written: String,
    pub kind: &'a Target,
    /// The code after the opening parenthesis.
    pub rest: &'a str,
}

impl Registration<'_> {
    /// The call, without its arguments.
    pub fn what(&self) -> String {
        format!(".{}::<{}>()", self.method, self.written)
    }

    /// Whether the kind is written as `PartialObjectMeta`.
    pub fn is_metadata(&self) -> bool {
        whole(&self.written) != self.written
    }
}

/// The calls of these methods with kinds that kbr knows, by method. None in a file with an unterminated string, which is reported where its
/// markers are read.
pub fn registrations<'a>(
    kinds: &'a Kinds,
    methods: &[&'static str],
    source: &'a Source,
) -> Vec<Registration<'a>> {
    let code = source.code().unwrap_or_default();
    let mut found = Vec::new();
    for &method in methods {
        let pattern = format!(".{method}::<");
        for (at, _) in code.match_indices(&pattern) {
            let Some((Some(written), rest)) = call(&code[at + 1 + method.len()..]) else {
                continue;
            };
            let Some(kind) = kinds.find(&source.resolve(whole(&written))) else {
                continue;
            };
            found.push(Registration {
                line: source.lines.number(at),
                method,
                written,
                kind,
                rest,
            });
        }
    }
    found
}

/// The `.finalizer(…)` of a controller's registration.
pub struct Finalizer<'a> {
    pub line: usize,
    /// The kind of the controller.
    pub kind: &'a Target,
    /// The code after the opening parenthesis.
    pub arguments: &'a str,
}

impl Finalizer<'_> {
    /// The call, without its arguments.
    pub const WHAT: &'static str = ".finalizer(…)";
}

/// The finalizers of the controllers that a file registers, for kinds that kbr knows.
pub fn finalizers<'a>(
    kinds: &'a Kinds,
    source: &'a Source,
) -> impl Iterator<Item = Finalizer<'a>> + use<'a> {
    let code = source.code().unwrap_or_default();
    let call = ".finalizer(";
    let controllers = registrations(kinds, &["controller"], source).into_iter();
    controllers.filter_map(move |controller| {
        let (before, _) = statement(controller.rest).split_once(call)?;
        let at = code.len() - controller.rest.len() + before.len();
        Some(Finalizer {
            line: source.lines.number(at),
            kind: controller.kind,
            arguments: &code[at + call.len()..],
        })
    })
}

/// The rest of a statement, from within the parentheses of a call. Blocks in it may have statements of their own.
pub fn statement(rest: &str) -> &str {
    let mut depth = 1;
    for (at, character) in rest.char_indices() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ';' if depth == 0 => return &rest[..at],
            _ => {}
        }
        if depth < 0 {
            return &rest[..at];
        }
    }
    rest
}

/// `PartialObjectMeta<Job>` -> `Job`.
fn whole(written: &str) -> &str {
    let inside = written.strip_suffix('>').and_then(|it| it.split_once('<'));
    match inside {
        Some((outer, inner)) if outer.rsplit("::").next() == Some("PartialObjectMeta") => inner,
        _ => written,
    }
}

/// Whether the comment above the line has `+kbr:lint:allow=<id>`. `markers` are those called `lint`.
pub fn is_allowed(markers: &[Marker], id: &str, source: &Source, line: usize) -> bool {
    let lines: Vec<_> = source.text.lines().take(line.saturating_sub(1)).collect();
    let comment = lines.iter().rev();
    let comment = comment.take_while(|line| line.trim_start().starts_with("//"));
    let above = line - comment.count()..line;
    let here = |at: &str| {
        above
            .clone()
            .any(|line| at == format!("{}:{line}", source.path))
    };
    let allows = |marker: &Marker| marker.allowed.iter().any(|allowed| allowed == id);
    markers
        .iter()
        .any(|marker| allows(marker) && here(&marker.at))
}
