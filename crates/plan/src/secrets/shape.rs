//! The fake of a value: its shape is found out, and the parts that are no syntax become other ones.

use base64::Engine as _;

use super::fakes::{Fakes, Treatment, is_word};
use super::{encoded, json, lines, pem, plain, url};

/// The fake of a value of any shape. Equal values have equal fakes, and an empty one stays empty.
pub fn value(fakes: &mut Fakes, value: &[u8], treatment: Treatment) -> Vec<u8> {
    let Ok(text) = str::from_utf8(value) else {
        return remembered(fakes, value, treatment, binary);
    };
    let trimmed = text.trim();
    if trimmed.is_empty() || is_word(trimmed.as_bytes()) {
        return value.to_owned();
    }
    // A newline at the end is often that of an editor: the value is the same without it.
    let start = text.len() - text.trim_start().len();
    let (before, after) = (&text[..start], &text[start + trimmed.len()..]);
    let fake = remembered(
        fakes,
        trimmed.as_bytes(),
        treatment,
        |fakes, _, treatment| of_text(fakes, trimmed, treatment).into_bytes(),
    );
    if before.is_empty() && after.is_empty() {
        return fake;
    }
    let fake = [before.as_bytes(), &fake, after.as_bytes()].concat();
    remembered(fakes, value, treatment, |_, _, _| fake)
}

/// The fake of a text.
pub fn text(fakes: &mut Fakes, text: &str, treatment: Treatment) -> String {
    // The fake of a text is one.
    String::from_utf8(value(fakes, text.as_bytes(), treatment)).unwrap_or_default()
}

fn remembered(
    fakes: &mut Fakes,
    value: &[u8],
    treatment: Treatment,
    make: impl FnOnce(&mut Fakes, &[u8], Treatment) -> Vec<u8>,
) -> Vec<u8> {
    if treatment.searched {
        fakes.search(value);
    }
    if let Some(known) = fakes.known(value) {
        return known.clone();
    }
    let fake = make(fakes, value, treatment);
    fakes.remember(value, &fake);
    fake
}

fn binary(fakes: &mut Fakes, content: &[u8], treatment: Treatment) -> Vec<u8> {
    match encoded::gunzip(content) {
        Some(inner) if treatment.layers > 0 => {
            encoded::gzip(&value(fakes, &inner, treatment.inner()))
        }
        _ => plain::bytes(fakes, content),
    }
}

fn of_text(fakes: &mut Fakes, text: &str, treatment: Treatment) -> String {
    if treatment.layers == 0 {
        return plain::text(fakes, text);
    }
    if json::is_container(text) {
        return json::map_strings(text, |key, leaf| {
            Some(of_leaf(fakes, key, leaf, treatment.inner()))
        });
    }
    if let Some(fake) = pem::fake(fakes, text, treatment) {
        return fake;
    }
    if !text.contains('\n') {
        return of_line(fakes, text, treatment);
    }
    of_lines(fakes, text, treatment)
}

fn of_line(fakes: &mut Fakes, text: &str, treatment: Treatment) -> String {
    None.or_else(|| url::fake(fakes, text, treatment))
        .or_else(|| plain::recognized(fakes, text))
        .or_else(|| token(fakes, text, treatment))
        .or_else(|| base64(fakes, text, treatment))
        .or_else(|| lines::fake(fakes, text, treatment))
        .unwrap_or_else(|| plain::text(fakes, text))
}

fn of_lines(fakes: &mut Fakes, text: &str, treatment: Treatment) -> String {
    let compact: String = text.split_whitespace().collect();
    let is_wrapped = || text.split_whitespace().count() == text.lines().count();
    if let Some(fake) = is_wrapped()
        .then(|| base64(fakes, &compact, treatment.unsearched()))
        .flatten()
    {
        let width = text.find(char::is_whitespace).unwrap_or(text.len());
        let lines: Vec<_> = fake.as_bytes().chunks(width.max(1)).collect();
        return String::from_utf8(lines.join(&b'\n')).unwrap_or_default();
    }
    lines::fake(fakes, text, treatment).unwrap_or_else(|| plain::text(fakes, text))
}

/// The fake of a string in JSON.
pub fn of_leaf(fakes: &mut Fakes, key: &str, leaf: &str, treatment: Treatment) -> String {
    // That of a registry in `.dockerconfigjson`.
    match encoded::base64_text(leaf) {
        Some(pair) if key == "auth" && pair.contains(':') => {
            if treatment.searched {
                fakes.search(leaf.as_bytes());
            }
            let fake = encoded::to_base64(url::user(fakes, &pair, treatment));
            fakes.remember(leaf.as_bytes(), fake.as_bytes());
            fake
        }
        _ => text(fakes, leaf, treatment),
    }
}

/// A JSON Web Token (RFC 7519): the header stays, because it says how the token is read.
fn token(fakes: &mut Fakes, text: &str, treatment: Treatment) -> Option<String> {
    let (header, rest) = text.split_once('.')?;
    let (payload, signature) = rest.split_once('.')?;
    let [_, payload] = [header, payload].map(encoded::url_base64);
    let payload = String::from_utf8(payload?).ok()?;
    if !text.starts_with("eyJ") || !json::is_container(&payload) {
        return None;
    }
    // What a token says is often public: the name of an issuer.
    let payload = self::text(fakes, &payload, treatment.unsearched().inner());
    let signature = match encoded::url_base64(signature) {
        Some(bytes) if !bytes.is_empty() => encoded::to_url_base64(&plain::bytes(fakes, &bytes)),
        _ => plain::text(fakes, signature),
    };
    let payload = encoded::to_url_base64(payload.as_bytes());
    Some(format!("{header}.{payload}.{signature}"))
}

fn base64(fakes: &mut Fakes, text: &str, treatment: Treatment) -> Option<String> {
    let (content, engine) = encoded::base64(text)?;
    let is_printable = |text: &str| !text.contains(|c: char| c.is_control() && !c.is_whitespace());
    let is_value = encoded::is_gzip(&content) || str::from_utf8(&content).is_ok_and(is_printable);
    if is_value {
        return Some(engine.encode(value(fakes, &content, treatment.inner())));
    }
    Some(engine.encode(plain::bytes(fakes, &content)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_values_of_one_character_have_different_fakes() {
        let mut fakes = Fakes::new(text).unwrap();
        let values = "b c d e f g h i j k l m p q r s t u v w".split(' ');
        let made = values.map(|value| {
            let fake = text(&mut fakes, value, Treatment::VALUE);
            assert!(fake != value && fake.len() == 1);
            fake
        });
        assert_eq!(made.collect::<std::collections::HashSet<_>>().len(), 20);
    }

    #[test]
    fn empty_values_words_and_spaces_stay() {
        let mut fakes = Fakes::new(text).unwrap();
        for same in ["", " \n", "true", "No\n", "null"] {
            assert_eq!(text(&mut fakes, same, Treatment::VALUE), same);
        }
    }

    #[test]
    fn a_newline_at_the_end_does_not_make_another_value() {
        let mut fakes = Fakes::new(text).unwrap();
        let mut fake = |value| text(&mut fakes, value, Treatment::VALUE);
        assert_eq!(fake("abcdefgh") + "\n", fake("abcdefgh\n"));
    }

    #[test]
    fn base64_in_lines_stays_such() {
        let mut fakes = Fakes::new(text).unwrap();
        let base64 = encoded::to_base64([0xff; 50]);
        let value = format!(
            "{}\n{}\n{}\n",
            &base64[..30],
            &base64[30..60],
            &base64[60..]
        );
        let fake = text(&mut fakes, &value, Treatment::VALUE);
        let lengths = |text: &str| text.lines().map(str::len).collect::<Vec<_>>();
        assert_eq!(lengths(&fake), lengths(&value));
        assert!(encoded::base64(&fake.replace('\n', "")).is_some(), "{fake}");
    }

    #[test]
    fn deep_values_end() {
        let mut fakes = Fakes::new(text).unwrap();
        let mut value = "a password".to_owned();
        for _ in 0..12 {
            value = serde_json::json!([value]).to_string();
        }
        let fake = text(&mut fakes, &value, Treatment::VALUE);
        assert!(json::is_container(&fake) && !fake.contains("password"));
    }
}
