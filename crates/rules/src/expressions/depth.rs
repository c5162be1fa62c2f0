//! How deep an expression is nested, from its text: the parser and what follows it are recursive.

/// The API server's limit: `maxRecursionDepth` of cel-go's parser.
pub const DEEPEST: usize = 250;

/// Operators in a row, each of which nests the expression before it, and the brackets around them.
#[derive(Default)]
struct Level {
    operators: usize,
    members: usize,
}

impl Level {
    fn depth(&self) -> usize {
        self.operators + self.members
    }

    fn operator(&mut self) {
        self.operators += 1;
        self.members = 0;
    }
}

/// The deepest nesting: brackets, operators in a row and members of members. `&&` and `||` count nothing, since both parsers balance
/// them.
pub fn depth(text: &str) -> usize {
    let (mut outer, mut level) = (Vec::new(), Level::default());
    let (mut above, mut deepest) = (0, 0);
    let mut before = ' ';
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        rest = match next {
            '"' | '\'' => after_string(rest, next, before),
            _ => &rest[next.len_utf8()..],
        };
        match next {
            '(' | '[' | '{' => {
                above += level.depth() + 1;
                outer.push(std::mem::take(&mut level));
            }
            ')' | ']' | '}' => {
                if let Some(opened) = outer.pop() {
                    level = opened;
                    above -= level.depth() + 1;
                }
            }
            ',' | '&' | '|' => level = Level::default(),
            '.' => level.members += 1,
            '<' | '>' | '=' => {
                rest = rest.strip_prefix('=').unwrap_or(rest);
                level.operator();
            }
            '+' | '-' | '*' | '/' | '%' | '?' => level.operator(),
            'n' if before == 'i' && rest.starts_with([' ', '[', '(', '{']) => level.operator(),
            _ => {}
        }
        deepest = deepest.max(above + level.depth());
        before = next;
    }
    deepest
}

/// The text after the string that begins `text`; `before` may be the prefix of a raw one, in which nothing is escaped.
fn after_string(text: &str, quote: char, before: char) -> &str {
    let triple = [quote; 3].iter().collect::<String>();
    let end = if text.starts_with(&triple) {
        &triple[..]
    } else {
        &triple[..1]
    };
    let mut rest = &text[end.len()..];
    while !rest.is_empty() && !rest.starts_with(end) {
        let mut chars = rest.chars();
        if chars.next() == Some('\\') && !"rR".contains(before) {
            chars.next();
        }
        rest = chars.as_str();
    }
    rest.strip_prefix(end).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_operators_and_members_in_a_row_are_levels() {
        for (text, expected) in [
            ("a", 0),
            ("((a))", 2),
            ("a.b.c", 2),
            ("a.b + c.d + e.f", 3),
            ("a == b && c <= d || e != f", 1),
            ("[1, [2, 3], {'a': [4]}]", 3),
            ("a.all(b, b in [c]) && d", 4),
            ("a ? b : c ? d : e", 2),
            ("'((((' + \"[[[\\\"[[[\" + '''(''(''' + r'\\' + b'('", 4),
            ("!!!!!!a != b", 1),
            ("======", 3),
            (")))(", 1),
            ("'(", 0),
        ] {
            assert_eq!(depth(text), expected, "{text}");
        }
    }
}
