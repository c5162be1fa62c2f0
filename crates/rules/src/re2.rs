//! Go's `regexp` -> Rust's `regex`: translates a pattern, or explains why Go rejects it.

mod class;
mod reader;

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use regex::Regex;

use reader::Reader;

/// The maximum count of a repetition; for nested ones, of the product of their counts.
const MAX: u32 = 1000;

/// The same pattern for Rust's `regex`, or why Go rejects it.
pub fn translate(pattern: &str) -> Result<String, String> {
    let mut reader = Reader::new(pattern);
    reader.alternatives(0)?;
    Ok(reader.out)
}

/// Whether `text` contains a match of a pattern, as in the API server; `None` if it is not known.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> Option<bool> {
    Some(compiled(pattern)?.is_match(text))
}

/// The most patterns that are kept.
const KEPT: usize = 1000;

/// A pattern in Rust; `None` if it is not known. To compile it takes longer than to match it, so the first thousand are kept.
#[must_use]
pub fn compiled(pattern: &str) -> Option<Regex> {
    static COMPILED: LazyLock<Mutex<HashMap<String, Option<Regex>>>> =
        LazyLock::new(Mutex::default);
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = compiled.get(pattern) {
        return known.clone();
    }
    let new = translate(pattern).ok().and_then(|it| Regex::new(&it).ok());
    if compiled.len() < KEPT {
        compiled.insert(pattern.to_owned(), new.clone());
    }
    new
}

impl Reader<'_> {
    /// Reads up to the end or an unmatched `)`. Returns the largest product of counts inside.
    fn alternatives(&mut self, depth: u32) -> Result<u32, String> {
        if depth > 200 {
            return Err("groups are nested too deeply".to_owned());
        }
        let (mut largest, mut last) = (1, None);
        while let Some(next) = self.peek() {
            match next {
                ')' if depth > 0 => return Ok(largest),
                ')' => return Err("unmatched `)`".to_owned()),
                '|' => {
                    self.next();
                    self.out.push('|');
                    last = None;
                }
                '*' | '+' | '?' => {
                    self.next();
                    let lazy = self.eat("?");
                    last = Some(self.repeat(last, &next.to_string(), lazy, 1)?);
                    largest = largest.max(last.map_or(1, |(count, _)| count));
                }
                '{' => {
                    if let Some((text, count)) = self.count()? {
                        let lazy = self.eat("?");
                        last = Some(self.repeat(last, &text, lazy, count)?);
                        largest = largest.max(last.map_or(1, |(count, _)| count));
                    } else {
                        self.next();
                        self.out.push_str("\\{");
                        last = Some((1, false));
                    }
                }
                _ => {
                    let count = self.atom(depth)?;
                    largest = largest.max(count.unwrap_or(1));
                    // Flags alone cannot be repeated.
                    last = count
                        .map(|count| (count, false))
                        .or(last.filter(|_| count.is_some()));
                }
            }
        }
        if depth > 0 {
            return Err("unclosed `(`".to_owned());
        }
        Ok(largest)
    }

    /// `last` is the product of counts in the repeated expression, and whether that is itself a repetition.
    fn repeat(
        &mut self,
        last: Option<(u32, bool)>,
        sign: &str,
        lazy: bool,
        count: u32,
    ) -> Result<(u32, bool), String> {
        let lazy = if lazy { "?" } else { "" };
        match last {
            None => Err(format!("nothing to repeat before `{sign}`")),
            Some((_, true)) => Err(format!("`{sign}` follows another repetition")),
            Some((inner, false)) => {
                let product = inner.saturating_mul(count.max(1));
                if product > MAX {
                    return Err(format!("repeats more than {MAX} times"));
                }
                self.out.push_str(sign);
                self.out.push_str(lazy);
                Ok((product, true))
            }
        }
    }

    /// Reads `{2}`, `{2,}` or `{2,5}`; `None` if it is only a brace.
    fn count(&mut self) -> Result<Option<(String, u32)>, String> {
        // Looks no further than a count can reach.
        let after = &self.rest[1..];
        let end = after.find(|it: char| !it.is_ascii_digit() && it != ',');
        let Some((inside, rest)) = end.map(|end| after.split_at(end)) else {
            return Ok(None);
        };
        let Some(rest) = rest.strip_prefix('}') else {
            return Ok(None);
        };
        let (low, high) = inside.split_once(',').unwrap_or((inside, inside));
        let number = |text: &str| {
            let valid = !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_digit())
                && (text.len() == 1 || !text.starts_with('0'));
            valid.then(|| text.parse::<u32>().unwrap_or(u32::MAX))
        };
        let Some(least) = number(low) else {
            return Ok(None);
        };
        let most = if high.is_empty() {
            Some(least)
        } else {
            number(high)
        };
        let Some(most) = most else {
            return Ok(None);
        };
        if least > MAX || most > MAX || most < least {
            return Err(format!(
                "`{{{inside}}}` is not a valid count of at most {MAX}"
            ));
        }
        self.rest = rest;
        Ok(Some((format!("{{{inside}}}"), most.max(least))))
    }

    /// Reads one character, class, escape or group. `None` for flags, which match nothing.
    fn atom(&mut self, depth: u32) -> Result<Option<u32>, String> {
        match self.next() {
            Some('(') => return self.group(depth),
            Some('[') => self.class()?,
            Some('\\') => {
                if self.eat("Q") {
                    let (quoted, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
                    self.rest = rest;
                    self.out.push_str(&regex::escape(quoted));
                    return Ok((!quoted.is_empty()).then_some(1));
                }
                let escape = self.escape(false)?;
                self.out.push_str(&escape);
            }
            Some(character @ ('.' | '^' | '$')) => self.out.push(character),
            Some(character) => self.out.push_str(&regex::escape(&character.to_string())),
            None => {}
        }
        Ok(Some(1))
    }

    fn group(&mut self, depth: u32) -> Result<Option<u32>, String> {
        if !self.eat("?") {
            self.out.push('(');
        } else if self.eat("P<")
            || !self.rest.starts_with("<=") && !self.rest.starts_with("<!") && self.eat("<")
        {
            let (name, rest) = self
                .rest
                .split_once('>')
                .ok_or("unclosed group name: missing `>`")?;
            let valid = !name.is_empty()
                && name
                    .chars()
                    .all(|character| character == '_' || character.is_ascii_alphanumeric());
            if !valid || !self.names.insert(name) {
                return Err(format!(
                    "`{name}` is not a valid group name, or is a duplicate"
                ));
            }
            self.rest = rest;
            self.out.push('(');
        } else if self.flags()? {
            return Ok(None);
        }
        let count = self.alternatives(depth + 1)?;
        self.next();
        self.out.push(')');
        Ok(Some(count))
    }

    /// Reads flags: `i-s:` begins a group, `i)` does not. Returns whether it was the latter.
    fn flags(&mut self) -> Result<bool, String> {
        let end = self.rest.find([':', ')']).ok_or("unclosed `(?`")?;
        let (flags, sign) = (&self.rest[..end], &self.rest[end..=end]);
        let (on, off) = flags.split_once('-').unwrap_or((flags, "i"));
        let valid = |text: &str| text.chars().all(|flag| "imsU".contains(flag));
        if !valid(on) || !valid(off) || off.is_empty() || flags.is_empty() && sign == ")" {
            let shown: String = self.rest.chars().take(3).collect();
            return Err(format!(
                "`(?{shown}` is not supported (RE2 has no look-around)"
            ));
        }
        self.rest = &self.rest[end + 1..];
        self.out.extend(["(?", flags, sign]);
        Ok(sign == ")")
    }
}

#[cfg(test)]
mod tests;
