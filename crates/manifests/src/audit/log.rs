//! Reads an audit log line by line.

use std::io::{BufRead, Read};

use anyhow::Context;

use super::event::Event;
use kbr_host::diagnostic::Diagnostic;

/// The longest line, in bytes: two objects of the largest size, which an API server logs at most, with room to spare.
const LIMIT: u64 = 16 * 1024 * 1024;

/// How a log ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Nothing was in it.
    Empty,
    /// After a whole event.
    Whole,
    /// Within an event: the API server was killed while it wrote that, or is still writing.
    Truncated,
}

/// Calls `each` for every event. Holds one line in memory.
///
/// # Errors
/// A line is not an audit event: its number, and why. The last line may be incomplete.
pub fn read(mut log: impl BufRead, mut each: impl FnMut(&Event)) -> anyhow::Result<End> {
    let (mut line, mut end) = (Vec::new(), End::Empty);
    for number in 1_usize.. {
        line.clear();
        let mut rest = log.by_ref().take(LIMIT);
        let length = rest.read_until(b'\n', &mut line);
        if length.with_context(|| format!("cannot read line {number}"))? == 0 {
            break;
        }
        if line.len() as u64 == LIMIT {
            return Err(broken(number, "it is longer than 16 MiB").into());
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match Event::parse(text) {
            Ok(event) => each(&event),
            Err(_) if end == End::Whole && !line.ends_with(b"\n") => return Ok(End::Truncated),
            Err(reason) => return Err(broken(number, &reason).into()),
        }
        end = End::Whole;
    }
    Ok(end)
}

fn broken(number: usize, reason: &str) -> Diagnostic {
    Diagnostic::new(format_args!(
        "line {number} is not an audit event: {reason}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","verb":"get","user":{}}"#;

    /// The number of events, and the end or the error.
    fn check(log: &str, events: usize, expected: Result<End, &str>) {
        let mut count = 0;
        let end = read(log.as_bytes(), |_| count += 1);
        let end = end.map_err(|error| error.to_string());
        assert_eq!(end, expected.map_err(str::to_owned), "{log}");
        assert_eq!(count, events, "{log}");
    }

    #[test]
    fn every_line_is_an_event() {
        check(&format!("{EVENT}\n{EVENT}\n"), 2, Ok(End::Whole));
        check(&format!("{EVENT}\n\n{EVENT}"), 2, Ok(End::Whole));
        check("", 0, Ok(End::Empty));
        check("\n \n", 0, Ok(End::Empty));
    }

    #[test]
    fn only_the_last_line_may_be_incomplete() {
        let half = &EVENT[..40];
        check(&format!("{EVENT}\n{half}"), 1, Ok(End::Truncated));
        let reason = "line 2 is not an audit event: EOF while parsing a string";
        check(&format!("{EVENT}\n{half}\n{EVENT}\n"), 1, Err(reason));
        check(&format!("{EVENT}\n{half}\n"), 1, Err(reason));
    }

    #[test]
    fn a_file_of_another_format_is_an_error() {
        check(
            "[package]",
            0,
            Err("line 1 is not an audit event: expected value"),
        );
        let other = EVENT.replace("audit.k8s.io/v1", "v1");
        check(
            &other,
            0,
            Err("line 1 is not an audit event: it is `Event` of `v1`"),
        );
        let missing = "line 1 is not an audit event: missing field `kind`";
        check("{}", 0, Err(missing));
    }
    #[test]
    fn an_endless_line_is_an_error_instead_of_exhausting_the_memory() {
        for byte in [b'x', b' '] {
            let endless = std::io::BufReader::new(std::io::repeat(byte));
            let error = read(endless, |_| {}).unwrap_err().to_string();
            let expected = "line 1 is not an audit event: it is longer than 16 MiB";
            assert_eq!(error, expected);
        }
    }
}
