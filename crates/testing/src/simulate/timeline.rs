//! A history as a page: who does what, and what becomes of each object.

pub(super) mod file;
mod rows;
mod svg;

use super::{
    history::History,
    oracle::Finding,
    plan::Plan,
    story::{self, told},
};

/// The page around a drawing. Nothing in it is loaded, and nothing runs.
const STYLE: &str = "\
:root{color-scheme:light dark}
body{margin:0 auto;padding:1rem;max-width:72rem;font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.25rem;margin:0}
p{margin:.25rem 0;opacity:.75}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.5 ui-monospace,Menlo,Consolas,monospace}
div{overflow-x:auto}";

/// A history that fails as a page of HTML.
pub(super) fn page(
    test: Option<&str>,
    plan: &Plan,
    finding: &Finding,
    history: &History,
) -> String {
    let drawing = svg::of(&rows::of(history, told(history, finding), finding));
    let (what, details) = (escaped(&finding.what), escaped(&finding.details.join("\n")));
    let again = escaped(&story::again(test, plan, finding, history));
    let test = escaped(test.unwrap_or("a simulation"));
    let oracle = finding.oracle;
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{test}: {what}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n\
         <h1>{what}</h1>\n<p>{test} violates <code>Oracle::{oracle:?}</code></p>\n<pre>{details}</pre>\n\
         <div>\n{drawing}</div>\n\
         <p>● created or started, ○ changed, ✕ deleted or ended; red is a fault</p>\n<pre>{again}</pre>\n\
         </body>\n</html>\n"
    )
}

/// A text as HTML, and as SVG: the only way in which one gets into a page.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(letter),
            // XML has no others.
            letter if letter.is_control() => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let text = "<script>\u{1b}\"&'\n";
        assert_eq!(escaped(text), "&lt;script&gt;\u{fffd}&quot;&amp;&#39;\n");
    }
}
