//! Fakes of URLs, and of what has their parts: scheme and port stay, and so do the names of parameters.

use super::encoded::{percent_decode, percent_encode};
use super::fakes::{Fakes, Treatment};

/// The fake of a URL, or of a host with a port. `None` if the text is neither.
pub fn fake(fakes: &mut Fakes, text: &str, treatment: Treatment) -> Option<String> {
    if text.contains(char::is_whitespace) {
        return None;
    }
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.:".contains(c);
    let Some((scheme, rest)) = text.split_once("://") else {
        let (name, port) = text.rsplit_once(':')?;
        let is_host = name.contains('.') || name == "localhost";
        return (is_host && is_port(port)).then(|| host(fakes, text, treatment));
    };
    if scheme.is_empty() || !scheme.chars().all(is_scheme) {
        return None;
    }
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (before, hosts) = match authority.rsplit_once('@') {
        Some((before, hosts)) => (user(fakes, before, treatment) + "@", hosts),
        None => (String::new(), authority),
    };
    let hosts: Vec<_> = hosts
        .split(',')
        .map(|it| host(fakes, it, treatment))
        .collect();
    let path = path_and_query(fakes, path, treatment);
    Some(format!("{scheme}://{before}{}{path}", hosts.join(",")))
}

/// A user with a password: `name:password`.
pub fn user(fakes: &mut Fakes, text: &str, treatment: Treatment) -> String {
    let part = |part| percent_encoded(fakes, part, treatment);
    let parts: Vec<_> = text.splitn(2, ':').map(part).collect();
    parts.join(":")
}

fn is_port(text: &str) -> bool {
    (1..=5).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit())
}

fn host(fakes: &mut Fakes, text: &str, treatment: Treatment) -> String {
    // Names of hosts are not searched: they are those of Services, too.
    let treatment = treatment.unsearched().inner();
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if is_port(port) => (name, Some(port)),
        _ => (text, None),
    };
    let inner = name.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let fake = match inner {
        Some(inner) => format!("[{}]", fakes.text(inner, treatment)),
        None => fakes.text(name, treatment),
    };
    match port {
        Some(port) => format!("{fake}:{port}"),
        None => fake,
    }
}

/// Segments of a path are not searched, because many are words; values of parameters are.
fn path_and_query(fakes: &mut Fakes, text: &str, treatment: Treatment) -> String {
    let (mut made, mut rest, mut is_query) = (String::new(), text, false);
    while let Some(mark) = rest.chars().next() {
        let end = rest[1..].find(['/', '?', '#', '&', ';']);
        let (part, after) = rest[1..].split_at(end.unwrap_or(rest.len() - 1));
        is_query |= mark == '?';
        made.push(mark);
        match part.split_once('=') {
            Some((name, value)) if is_query => {
                made.extend([name, "=", &percent_encoded(fakes, value, treatment)]);
            }
            _ => made += &percent_encoded(fakes, part, treatment.unsearched()),
        }
        rest = after;
    }
    made
}

/// The fake of a part in its encoding.
fn percent_encoded(fakes: &mut Fakes, part: &str, treatment: Treatment) -> String {
    match percent_decode(part) {
        Some(decoded) if decoded != part => {
            percent_encode(&fakes.text(&decoded, treatment.inner()))
        }
        _ => fakes.text(part, treatment.inner()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::shape;

    #[test]
    fn scheme_port_and_parameters_stay_and_parts_have_their_own_fakes() {
        let mut fakes = Fakes::new(shape::text).unwrap();
        let password = shape::text(&mut fakes, "p@ss", Treatment::VALUE);
        let mut fake = |text| fake(&mut fakes, text, Treatment::VALUE);
        let url = fake("postgres://u:p%40ss@db.x:5432,[fe80::1]:1/a/b?sslmode=abc&x#f").unwrap();
        let encoded = percent_encode(&password);
        assert!(url.contains(&format!(":{encoded}@")), "{url} {password}");
        assert!(url.starts_with("postgres://") && url.contains(":5432,["));
        assert!(url.contains("]:1/") && url.contains("?sslmode=") && url.contains('#'));
        let service = fake("db.example:5432").unwrap();
        assert!(service.ends_with(":5432") && service.len() == 15);
        for other in ["a b://c", "://x", "word:5432", "a.b:port"] {
            assert_eq!(fake(other), None);
        }
    }
}
