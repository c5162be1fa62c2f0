//! Parses paths of printer columns like an API server: `k8s.io/client-go/util/jsonpath`, on the path in braces.
//!
//! A path that it cannot parse ends the columns: `kubectl get` shows neither this column nor those after it.

/// A part of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// `.name`, `['name']`.
    Field(String),
    /// `.*`: the items of a list, or the values of an object.
    Each,
    /// `..`: everything below.
    Below,
    /// `[0]`, `[1:]`, `[*]`: items of a list.
    Items,
    /// `[?(@.a == 'b')]`: those items of which something holds; both sides are paths from an item.
    Filter([Vec<Part>; 2]),
    /// `[0, 'name']`.
    Union(Vec<Vec<Part>>),
    /// A value that is written in the path.
    Literal,
    /// What parses, but has no value for any object: the reason.
    Fails(String),
}

/// The parts of a path.
///
/// # Errors
/// The path does not parse: the reason.
pub fn parse(path: &str) -> Result<Vec<Part>, String> {
    let (parts, rest) = braced(path)?;
    if rest.is_empty() {
        return Ok(parts);
    }
    // What follows must parse, too, and is not shown.
    let mut rest = &rest[..];
    while let Some((_, action)) = rest.split_once('{') {
        rest = action;
        inside(&mut rest)?;
    }
    Err("a column has one path".to_owned())
}

/// The parts of a text in braces, and what is left after them.
fn braced(text: &str) -> Result<(Vec<Part>, String), String> {
    let text = format!("{text}}}");
    let mut rest = &text[..];
    let parts = inside(&mut rest)?;
    Ok((parts, rest.to_owned()))
}

/// The parts up to `}`.
fn inside(rest: &mut &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    loop {
        if let Some(filter) = rest.strip_prefix("[?(") {
            *rest = filter;
            parts.push(self::filter(rest)?);
            continue;
        }
        if let Some(below) = rest.strip_prefix("..") {
            if parts.last() == Some(&Part::Below) {
                return Err("`..` after `..`".to_owned());
            }
            parts.push(Part::Below);
            *rest = below;
            if below.starts_with(|c: char| c == '_' || c.is_alphanumeric()) {
                parts.push(field(rest));
            }
            continue;
        }
        let next = rest.chars().next().filter(|c| !['\r', '\n'].contains(c));
        let Some(next) = next else {
            return Err("it is not complete".to_owned());
        };
        let before = *rest;
        *rest = &rest[next.len_utf8()..];
        match next {
            '}' => return Ok(parts),
            ' ' | '@' | '$' => {}
            '[' => array(rest, &mut parts)?,
            '"' | '\'' => parts.push(quoted(rest, next)?),
            '.' => parts.push(field(rest)),
            '+' | '-' => parts.push(number(rest, before)?),
            digit if digit.is_numeric() => parts.push(number(rest, before)?),
            letter if letter == '_' || letter.is_alphabetic() => {
                let (word, left) = before.split_at(before.find(ENDS).unwrap_or(before.len()));
                *rest = left;
                parts.push(match word {
                    "true" | "false" => Part::Literal,
                    _ => Part::Fails(format!("unexpected `{word}`")),
                });
            }
            other => return Err(format!("unexpected `{other}`")),
        }
    }
}

/// What ends a name.
const ENDS: &[char] = &[
    ' ', '\t', '\r', '\n', '.', ',', '[', ']', '$', '@', '{', '}',
];

/// The name up to a character that ends it, unless `\` is before that.
fn field(rest: &mut &str) -> Part {
    let mut escaped = false;
    let end = rest.find(|c| {
        let ends = !escaped && ENDS.contains(&c);
        escaped = c == '\\' && !escaped;
        ends
    });
    let (name, left) = rest.split_at(end.unwrap_or(rest.len()));
    *rest = left;
    match name {
        "*" => Part::Each,
        name => Part::Field(name.replace('\\', "")),
    }
}

/// A number that begins at `all`, of which `rest` has lost the first character.
fn number(rest: &mut &str, all: &str) -> Result<Part, String> {
    let end = rest.find(|c: char| c != '.' && !c.is_numeric());
    *rest = &rest[end.unwrap_or(rest.len())..];
    let text = &all[..all.len() - rest.len()];
    match text.parse::<f64>() {
        Ok(_) => Ok(Part::Literal),
        Err(_) => Err(format!("`{text}` is not a number")),
    }
}

fn array(rest: &mut &str, parts: &mut Vec<Part>) -> Result<(), String> {
    let Some((text, left)) = rest.split_once(']').filter(|it| !it.0.contains('\n')) else {
        return Err("`[` without `]`".to_owned());
    };
    *rest = left;
    if text.contains(',') {
        let all = text.split(',').map(|part| {
            let (parts, _) = braced(&format!("[{}]", part.trim_matches(' ')))?;
            Ok(parts)
        });
        parts.push(Part::Union(all.collect::<Result<_, String>>()?));
        return Ok(());
    }
    let name = text.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
    if let Some(name) = name.filter(|name| !name.contains('\'')) {
        parts.extend(braced(&format!(".{name}"))?.0);
        return Ok(());
    }
    let numbers: Vec<&str> = text.split(':').collect();
    let is_number = |text: &&str| text.is_empty() || text.parse::<i64>().is_ok();
    let is_slice = numbers.len() <= 3 && numbers.iter().all(is_number) && !text.contains('+');
    if text != "*" && !is_slice {
        return Err(format!("`[{text}]` is not an index"));
    }
    let number = |at: usize| numbers.get(at).and_then(|it| it.parse::<i64>().ok());
    let is_empty = |(first, end): (i64, i64)| first >= end && (first < 0) == (end < 0);
    let fails =
        number(2).is_some_and(|step| step <= 0) || number(0).zip(number(1)).is_some_and(is_empty);
    if fails {
        parts.push(Part::Fails(format!("`[{text}]` selects nothing")));
    } else {
        parts.push(Part::Items);
    }
    Ok(())
}

/// A filter, after `[?(`.
fn filter(rest: &mut &str) -> Result<Part, String> {
    let (mut quote, mut is_closed, mut before) = (None, false, '(');
    let mut end = None;
    for (at, next) in rest.char_indices() {
        match next {
            '\n' => break,
            '"' | '\'' if quote.is_none() => quote = Some(next),
            '"' | '\'' => is_closed |= before != '\\' && quote == Some(next),
            ')' if quote.is_some() == is_closed => {
                end = Some(at);
                break;
            }
            _ => {}
        }
        before = next;
    }
    let (text, left) = rest.split_at(end.ok_or("a filter has no end")?);
    *rest = left
        .strip_prefix(")]")
        .ok_or("a filter has no `]` after `)`")?;
    let signs = ['!', '<', '=', '>'];
    let (left, signed) = text.split_at(text.find(signs).unwrap_or(text.len()));
    let right = signed.trim_start_matches(signs);
    // The operator leaves one character for the right side.
    let right = match right {
        "" => &signed[signed.len().saturating_sub(1)..],
        right => right,
    };
    let operator = &signed[..signed.len() - right.len()];
    if left.is_empty() || operator.is_empty() {
        // Whether there is such a value: what fails counts as one.
        let mut parts = braced(text)?.0;
        parts.retain(|part| !matches!(part, Part::Fails(_)));
        return Ok(Part::Filter([parts, Vec::new()]));
    }
    let sides = [braced(left)?.0, braced(right)?.0];
    Ok(match operator {
        "==" | "!=" | "<" | "<=" | ">" | ">=" => Part::Filter(sides),
        _ => Part::Fails(format!("`{operator}` is not an operator")),
    })
}

/// A text in quotes, after the first of them.
fn quoted(rest: &mut &str, quote: char) -> Result<Part, String> {
    let mut before = quote;
    let end = rest.find(|c| {
        let ends = c == '\n' || c == quote && before != '\\';
        before = c;
        ends
    });
    let end = end.filter(|end| rest[*end..].starts_with(quote));
    let end = end.ok_or_else(|| format!("{quote} without another"))?;
    let text = &rest[..end];
    *rest = &rest[end + 1..];
    if is_text(text, quote) {
        return Ok(Part::Literal);
    }
    Err(format!("`{text}` has an unknown escape"))
}

/// Whether a text without its quotes has only escapes that Go knows.
fn is_text(text: &str, quote: char) -> bool {
    let mut chars = text.chars();
    while let Some(next) = chars.next() {
        if next != '\\' {
            continue;
        }
        let escape = chars.next();
        let digits = |radix: u32, count: usize| {
            let text: String = chars.clone().take(count).collect();
            let number = u32::from_str_radix(&text, radix).ok();
            let number = number.filter(|_| text.len() == count && !text.starts_with('+'));
            number.and_then(char::from_u32).map(|_| count)
        };
        let skipped = match escape {
            Some('a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '\\') => Some(0),
            Some('x') => digits(16, 2),
            Some('u') => digits(16, 4),
            Some('U') => digits(16, 8),
            Some('0'..='3') => digits(8, 2),
            other => (other == Some(quote)).then_some(0),
        };
        let Some(skipped) = skipped else {
            return false;
        };
        chars = chars.as_str()[skipped..].chars();
    }
    true
}
