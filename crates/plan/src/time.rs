//! Whether a value is a time.

use serde_json::Value;

use super::difference::Field;

/// Whether nothing but times differs in a field.
#[must_use]
pub fn is_time_alone(field: &Field) -> bool {
    let both = field.before.as_ref().zip(field.after.as_ref());
    both.is_some_and(|(before, after)| differ_in_times(before, after))
}

fn differ_in_times(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::String(a), Value::String(b)) => a == b || is_time(a) && is_time(b),
        (Value::Array(a), Value::Array(b)) => {
            let mut pairs = a.iter().zip(b);
            a.len() == b.len() && pairs.all(|(a, b)| differ_in_times(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let mut fields = a.iter();
            let is_same =
                |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| differ_in_times(a, b));
            a.len() == b.len() && fields.all(is_same)
        }
        (a, b) => a == b,
    }
}

/// Whether it is a time as RFC 3339 writes it: `2026-01-02T03:04:05.678+01:00`.
fn is_time(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let is_like = |text: &str, pattern: &str| {
        let mut pairs = text.bytes().zip(pattern.bytes());
        text.len() == pattern.len()
            && pairs.all(|(a, b)| {
                if b == b'0' {
                    a.is_ascii_digit()
                } else {
                    a == b
                }
            })
    };
    let Some((seconds, rest)) = text.split_at_checked("0000-00-00T00:00:00".len()) else {
        return false;
    };
    let end = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
    let (fraction, zone) = rest.split_at(end);
    is_like(seconds, "0000-00-00T00:00:00")
        && (fraction.is_empty() || fraction.strip_prefix('.').is_some_and(digits))
        && (zone == "Z" || is_like(zone, "+00:00") || is_like(zone, "-00:00"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_one_of_rfc_3339() {
        for time in [
            "2026-01-02T03:04:05Z",
            "2026-01-02T03:04:05.678901Z",
            "2026-01-02T03:04:05-01:30",
        ] {
            assert!(is_time(time), "{time}");
        }
        for other in [
            "",
            "2026-01-02",
            "2026-01-02T03:04:05",
            "2026-01-02T03:04:05.Z",
            "2026-01-02T03:04:05ZZ",
            "12345678901234567890Z",
        ] {
            assert!(!is_time(other), "{other}");
        }
    }
}
