//! Parses marker arguments with controller-gen's grammar.

/// More arguments, or more values of one, would be compared and combined with each other.
const MOST: usize = 200;

/// Parses arguments such as `groups=apps;batch,urls={/a,/b},roleName="x"`.
pub fn parse(mut text: &str) -> Result<Vec<(String, Vec<String>)>, String> {
    let mut arguments: Vec<(String, Vec<String>)> = Vec::new();
    text = text.trim();
    while !text.is_empty() {
        let (name, rest) = text
            .split_once('=')
            .ok_or_else(|| format!("expected `name=value` instead of `{text}`"))?;
        let name = name.trim();
        if arguments.len() == MOST {
            return Err(format!(
                "more than {MOST} arguments: write several comments"
            ));
        }
        if arguments.iter().any(|(known, _)| known == name) {
            return Err(format!("duplicate argument `{name}`"));
        }
        let (values, rest) = values(rest.trim_start())?;
        arguments.push((name.to_owned(), values));
        text = match rest.strip_prefix(',').map(str::trim_start) {
            Some("") => return Err("trailing `,`".to_owned()),
            Some(rest) => rest,
            None if rest.is_empty() => rest,
            None => return Err(format!("expected `,` instead of `{rest}` after `{name}`")),
        };
    }
    Ok(arguments)
}

/// Parses `a;b` or `{a,b}`; returns the values and the remaining text.
fn values(text: &str) -> Result<(Vec<String>, &str), String> {
    let mut found = Vec::new();
    let (mut text, separator) = match text.strip_prefix('{') {
        Some(inside) => (inside.trim_start(), ','),
        None => (text, ';'),
    };
    loop {
        let rest;
        if !text.is_empty() && !text.starts_with([',', ';', '}']) {
            let value;
            (value, rest) = scalar(text)?;
            if found.len() == MOST {
                return Err(format!("more than {MOST} values: write several comments"));
            }
            found.push(value);
        } else {
            rest = text;
        }
        match rest.strip_prefix(separator) {
            Some(more) => text = more.trim_start(),
            None if separator == ';' => return Ok((found, rest)),
            None => {
                let rest = rest
                    .strip_prefix('}')
                    .ok_or_else(|| format!("expected `}}` instead of `{rest}`"))?;
                return Ok((found, rest.trim_start()));
            }
        }
    }
}

/// Parses a bare word, `"quoted"` or `` `raw` ``; returns the value and the remaining text.
fn scalar(text: &str) -> Result<(String, &str), String> {
    if let Some(inside) = text.strip_prefix('`') {
        let (value, rest) = inside
            .split_once('`')
            .ok_or_else(|| format!("unterminated quote in `{text}`"))?;
        return Ok((value.to_owned(), rest.trim_start()));
    }
    if let Some(inside) = text.strip_prefix('"') {
        return quoted(inside)
            .ok_or_else(|| format!("unterminated quote in `{text}`, or has an unknown escape"));
    }
    let end = text
        .find([',', ';', '}', '"', '`', '{'])
        .unwrap_or(text.len());
    let (value, rest) = text.split_at(end);
    let value = value.trim();
    if let Some(next) = value
        .split_whitespace()
        .skip(1)
        .find(|word| word.contains('='))
    {
        return Err(format!("missing `,` before `{next}`"));
    }
    Ok((value.to_owned(), rest))
}

fn quoted(inside: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = inside.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((value, inside[at + 1..].trim_start())),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                same @ ('"' | '\\') => value.push(same),
                _ => return None,
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &[&str])]) {
        let found = parse(text).unwrap();
        let shown: Vec<(&str, Vec<&str>)> = found
            .iter()
            .map(|(name, values)| (name.as_str(), values.iter().map(String::as_str).collect()))
            .collect();
        let expected: Vec<(&str, Vec<&str>)> =
            expected.iter().map(|(n, v)| (*n, v.to_vec())).collect();
        assert_eq!(shown, expected, "in {text:?}");
    }

    fn rejected(text: &str, reason: &str) {
        let found = parse(text).unwrap_err();
        assert!(found.contains(reason), "{text:?}: {found}");
    }

    #[test]
    fn values_are_bare_quoted_or_raw() {
        check("a=b", &[("a", &["b"])]);
        check(r#"a="b,c;d""#, &[("a", &["b,c;d"])]);
        check(r#"a="b\"c\\",d=e"#, &[("a", &["b\"c\\"]), ("d", &["e"])]);
        check("a=`b\"\\,`", &[("a", &["b\"\\,"])]);
        check(r#"groups="",x=y"#, &[("groups", &[""]), ("x", &["y"])]);
        check(
            "resourceNames=system:node",
            &[("resourceNames", &["system:node"])],
        );
    }

    #[test]
    fn lists_have_two_forms() {
        check("a=b;c,d=e", &[("a", &["b", "c"]), ("d", &["e"])]);
        check("a={b,c},d=e", &[("a", &["b", "c"]), ("d", &["e"])]);
        check(r#"a=core;"";x"#, &[("a", &["core", "", "x"])]);
        check("a={}", &[("a", &[])]);
        check("a=,b=c", &[("a", &[]), ("b", &["c"])]);
    }

    #[test]
    fn whitespace_does_not_matter() {
        check(
            " a = b ; c , d = { e , f } ",
            &[("a", &["b", "c"]), ("d", &["e", "f"])],
        );
    }

    #[test]
    fn malformed_arguments_are_rejected() {
        rejected("a", "expected `name=value`");
        rejected("a=b,", "trailing `,`");
        rejected("a=\"b", "unterminated");
        rejected("a=`b", "unterminated");
        rejected("a={b", "expected `}`");
        rejected("a=b}c", "expected `,`");
        rejected("a=b,a=c", "duplicate");
        rejected(
            &format!("a={}", "b;".repeat(201)),
            "more than 200 values: write several comments",
        );
        let many: Vec<String> = (0..201).map(|at| format!("a{at}=b")).collect();
        rejected(&many.join(","), "more than 200 arguments");
        rejected("a=b\"c\"", "expected `,`");
        rejected("a=b c=d;e", "missing `,` before `c=d`");
    }
}
