//! Classes and escapes of a pattern.

use regex::Regex;

use super::reader::Reader;

impl Reader<'_> {
    /// Reads what follows a backslash; anchors are invalid in a class.
    pub(super) fn escape(&mut self, in_class: bool) -> Result<String, String> {
        let character = self.next().ok_or("trailing `\\`")?;
        let text = match character {
            'd' if in_class => "0-9".to_owned(),
            's' if in_class => "\\t\\n\\x0C\\r ".to_owned(),
            'w' if in_class => "0-9A-Za-z_".to_owned(),
            'd' => "[0-9]".to_owned(),
            's' => "[\\t\\n\\x0C\\r ]".to_owned(),
            'w' => "[0-9A-Za-z_]".to_owned(),
            'D' => "[^0-9]".to_owned(),
            'S' => "[^\\t\\n\\x0C\\r ]".to_owned(),
            'W' => "[^0-9A-Za-z_]".to_owned(),
            'A' | 'b' | 'B' | 'z' if !in_class => format!("\\{character}"),
            'a' | 'f' | 'n' | 'r' | 't' | 'v' => format!("\\{character}"),
            'p' | 'P' => self.unicode(character)?,
            'x' => self.hex()?,
            '0'..='7'
                if character == '0'
                    || self.rest.starts_with(|next| ('0'..='7').contains(&next)) =>
            {
                let more: usize = self
                    .rest
                    .bytes()
                    .take(2)
                    .take_while(|byte| (b'0'..=b'7').contains(byte))
                    .count();
                let digits = format!("{character}{}", &self.rest[..more]);
                self.rest = &self.rest[more..];
                format!(
                    "\\x{{{:x}}}",
                    u32::from_str_radix(&digits, 8).unwrap_or_default()
                )
            }
            character if character.is_ascii() && !character.is_ascii_alphanumeric() => {
                match character {
                    ' ' | '!' | '"' | '%' | '\'' | ',' | '/' | ':' | ';' | '=' | '@' | '_'
                    | '`' | '<' | '>' => character.to_string(),
                    control if control.is_ascii_control() => control.to_string(),
                    _ => format!("\\{character}"),
                }
            }
            character => return Err(format!("unknown escape `\\{character}`")),
        };
        Ok(text)
    }

    fn unicode(&mut self, character: char) -> Result<String, String> {
        let name = if self.eat("{") {
            let (name, rest) = self.rest.split_once('}').ok_or("unclosed `\\p{`")?;
            self.rest = rest;
            name
        } else {
            let length = self.peek().map_or(0, char::len_utf8);
            let (name, rest) = self.rest.split_at(length);
            self.rest = rest;
            name
        };
        let (negated, name) = name
            .strip_prefix('^')
            .map_or((false, name), |name| (true, name));
        let text = format!(
            "\\{}{{{name}}}",
            if negated == (character == 'P') {
                'p'
            } else {
                'P'
            }
        );
        match Regex::new(&text) {
            Ok(_) if name.starts_with(|first: char| first.is_ascii_uppercase()) => Ok(text),
            _ => Err(format!("`{name}` is not a Unicode class of Go")),
        }
    }

    /// Reads `\x41` or `\x{1F980}`.
    fn hex(&mut self) -> Result<String, String> {
        let digits = if self.eat("{") {
            let (digits, rest) = self.rest.split_once('}').ok_or("unclosed `\\x{`")?;
            self.rest = rest;
            digits
        } else {
            let digits = self.rest.get(..2).ok_or("`\\x` needs two digits")?;
            self.rest = &self.rest[2..];
            digits
        };
        let code = u32::from_str_radix(digits, 16)
            .ok()
            .filter(|code| *code <= 0x0010_FFFF && !digits.starts_with('+'));
        code.map(|code| format!("\\x{{{code:x}}}"))
            .ok_or_else(|| format!("`\\x{digits}` is not a character"))
    }

    /// Reads what follows a `[`.
    pub(super) fn class(&mut self) -> Result<(), String> {
        self.out.push('[');
        if self.eat("^") {
            self.out.push('^');
        }
        let mut first = true;
        while first || !self.rest.starts_with(']') {
            first = false;
            if self.rest.is_empty() {
                return Err("unclosed `[`".to_owned());
            }
            if self.rest.starts_with("[:") && self.rest[2..].contains(":]") {
                self.posix()?;
                continue;
            }
            if ["\\d", "\\s", "\\w", "\\D", "\\S", "\\W", "\\p", "\\P"]
                .iter()
                .any(|start| self.rest.starts_with(start))
            {
                self.next();
                let text = self.escape(true)?;
                self.out.push_str(&text);
                continue;
            }
            let (low, from) = self.member()?;
            self.out.push_str(&from);
            if self.rest.starts_with('-') && !self.rest.starts_with("-]") && self.rest.len() > 1 {
                self.next();
                let (high, to) = self.member()?;
                if high < low {
                    return Err(format!("the range `{from}-{to}` is empty"));
                }
                self.out.push('-');
                self.out.push_str(&to);
            }
        }
        self.next();
        self.out.push(']');
        Ok(())
    }

    fn posix(&mut self) -> Result<(), String> {
        const NAMES: [&str; 14] = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print",
            "punct", "space", "upper", "word", "xdigit",
        ];
        let (name, rest) = self.rest[2..].split_once(":]").unwrap_or_default();
        if !NAMES.contains(&name.trim_start_matches('^')) {
            return Err(format!("unknown class `[:{name}:]`"));
        }
        self.out.extend(["[:", name, ":]"]);
        self.rest = rest;
        Ok(())
    }

    /// One character of a class: itself, and its form in Rust.
    fn member(&mut self) -> Result<(char, String), String> {
        let character = self.next().ok_or("unclosed `[`")?;
        if character != '\\' {
            let escaped = if "[]^-&~\\".contains(character) {
                format!("\\{character}")
            } else {
                character.to_string()
            };
            return Ok((character, escaped));
        }
        let text = self.escape(true)?;
        let character = match text.as_str() {
            "\\a" => '\x07',
            "\\f" => '\x0C',
            "\\n" => '\n',
            "\\r" => '\r',
            "\\t" => '\t',
            "\\v" => '\x0B',
            hex if hex.starts_with("\\x{") => u32::from_str_radix(&hex[3..hex.len() - 1], 16)
                .ok()
                .and_then(char::from_u32)
                .unwrap_or(char::MAX),
            other => other.chars().last().unwrap_or_default(),
        };
        Ok((character, text))
    }
}
