//! Replaces a name in Rust.

/// Replaces `from` where it stands alone. An import of it keeps the `alias`.
pub fn with_new_name(text: &str, from: &str, to: &str, alias: &str) -> String {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, after) = (&rest[..at], &rest[at + from.len()..]);
        result += before;
        if before.ends_with(is_name) && !(alias.is_empty() && before.ends_with(':'))
            || after.starts_with(|c: char| is_name(c) && c != ':')
        {
            result += from;
        } else {
            result += to;
            let line = result.rsplit('\n').next().unwrap_or_default().trim_start();
            let is_import = line.starts_with("use ") || line.contains(" use ");
            if is_import && after.starts_with(';') && !alias.is_empty() {
                result += " as ";
                result += alias;
            }
        }
        rest = after;
    }
    result + rest
}
