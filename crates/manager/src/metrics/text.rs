//! The text format that Prometheus scrapes, version 0.0.4, as controller-runtime serves it.
//!
//! Its differences from `OpenMetrics`: a counter is described under the name of its samples, `…_total`; bucket bounds
//! are formatted like in Go; there are no units and no end marker.
//!
//! Source: <https://prometheus.io/docs/instrumenting/exposition_formats/>

use std::{collections::BTreeSet, fmt::Write as _};

/// The media type of the format.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The start of a bucket sample, up to its bound.
const BUCKET: &str = "_bucket{le=\"";

/// Converts the output of prometheus-client.
pub(super) fn from_openmetrics(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut help = None;
    for line in text.lines() {
        if let Some(line) = line.strip_prefix("# HELP ") {
            help = line.split_once(' ');
        } else if let Some((name, kind)) = type_of(line) {
            let total = if kind == "counter" { "_total" } else { "" };
            if let Some((_, help)) = help.take() {
                push(&mut out, format_args!("# HELP {name}{total} {help}"));
            }
            push(&mut out, format_args!("# TYPE {name}{total} {kind}"));
        } else if let Some((name, bound, rest)) = bucket(line) {
            let rest = without_exemplar(rest);
            push(&mut out, format_args!("{name}{BUCKET}{bound}\"{rest}"));
        } else if !line.starts_with('#') {
            push(&mut out, format_args!("{}", without_exemplar(line)));
        }
    }
    out
}

/// Whether each label of this line has a valid name that no other label has, and an escaped value.
pub(super) fn has_valid_labels(line: &str) -> bool {
    let labels = line.split_once('{').filter(|_| !line.starts_with('#'));
    let Some((_, mut rest)) = labels else {
        return true;
    };
    let mut names = BTreeSet::new();
    while !rest.starts_with("} ") {
        let Some((name, value)) = rest.split_once("=\"") else {
            return false;
        };
        let Some(next) = after_value(value) else {
            return false;
        };
        if !is_label(name) || !names.insert(name) {
            return false;
        }
        rest = next.strip_prefix(',').unwrap_or(next);
    }
    true
}

fn is_label(name: &str) -> bool {
    let word = |at: char| at.is_ascii_alphanumeric() || at == '_';
    name.chars().all(word) && !name.is_empty() && !name.starts_with(|at: char| at.is_ascii_digit())
}

/// The text after the quote that ends a value.
fn after_value(text: &str) -> Option<&str> {
    let mut escaped = false;
    let end = text.find(|at| {
        let ends = at == '"' && !escaped;
        escaped = at == '\\' && !escaped;
        ends
    })?;
    Some(&text[end + 1..])
}

fn push(out: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{line}");
}

fn type_of(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("# TYPE ")?.split_once(' ')
}

/// The text before the bound of a bucket, the bound in Go's format, and the text after its closing quote.
fn bucket(line: &str) -> Option<(&str, String, &str)> {
    let (name, rest) = line.split_once(BUCKET)?;
    let (bound, rest) = rest.split_once('"')?;
    let bound = bound
        .parse()
        .ok()
        .filter(|bound: &f64| bound.is_finite())
        .map_or_else(|| bound.to_owned(), go_float);
    Some((name, bound, rest))
}

/// The end of a sample, without an exemplar such as ` # {trace_id="a"} 1`, which this format lacks.
fn without_exemplar(sample: &str) -> &str {
    let complete = |sample: &&str| {
        let (series, value) = sample.rsplit_once(' ')?;
        // Otherwise the value of a label looks like an exemplar.
        let ended = series.ends_with('}') || !series.contains('{');
        (ended && value.parse::<f64>().is_ok()).then_some(())
    };
    let sample_only = sample.rsplit_once(" # {").map(|(sample, _)| sample);
    sample_only
        .filter(|sample| complete(sample).is_some())
        .unwrap_or(sample)
}

/// A number in the format of Go's `strconv.FormatFloat(number, 'g', -1, 64)`: `1`, `0.005`, `1e-08`.
fn go_float(number: f64) -> String {
    if number == 0.0 || (1e-4..1e21).contains(&number.abs()) {
        return number.to_string();
    }
    let text = format!("{number:e}");
    // The text always has an exponent.
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_described_under_the_name_of_its_samples() {
        let text =
            "# HELP adds Objects added.\n# TYPE adds counter\nadds_total{name=\"a\"} 1\n# EOF\n";
        let wanted = "# HELP adds_total Objects added.\n# TYPE adds_total counter\nadds_total{name=\"a\"} 1\n";
        assert_eq!(from_openmetrics(text), wanted);
    }

    #[test]
    fn bounds_are_written_as_in_go_and_units_are_omitted() {
        let text = "# HELP wait_seconds Wait.\n# TYPE wait_seconds histogram\n# UNIT wait_seconds seconds\n\
                    wait_seconds_bucket{le=\"1.0\",name=\"a\"} 2\n\
                    wait_seconds_bucket{le=\"+Inf\",name=\"a\"} 2\n# EOF\n";
        let wanted = "# HELP wait_seconds Wait.\n# TYPE wait_seconds histogram\n\
                      wait_seconds_bucket{le=\"1\",name=\"a\"} 2\n\
                      wait_seconds_bucket{le=\"+Inf\",name=\"a\"} 2\n";
        assert_eq!(from_openmetrics(text), wanted);
    }

    #[test]
    fn exemplars_are_omitted() {
        let text = "# TYPE wait histogram\nwait_bucket{le=\"1.0\",a=\"b\"} 2 # {id=\"x\"} 0.5\n\
                    wait_count 2 # {id=\"x\"} 1.0 17.5\nwait_sum{a=\"b 1 # {id\"} 2\n";
        let wanted = "# TYPE wait histogram\nwait_bucket{le=\"1\",a=\"b\"} 2\nwait_count 2\n\
                      wait_sum{a=\"b 1 # {id\"} 2\n";
        assert_eq!(from_openmetrics(text), wanted);
    }

    #[test]
    fn labels_need_valid_names_without_duplicates() {
        for (line, is_valid) in [
            ("a 1", true),
            ("# HELP a {b", true),
            ("a{} 1", true),
            (r#"a{b="",_c1="}\\"} 1"#, true),
            (r#"a{b="\"",c="{d"} 1"#, true),
            (r#"a{="b"} 1"#, false),
            (r#"a{1b="c"} 1"#, false),
            (r#"a{ä="c"} 1"#, false),
            (r#"a{b="c",b="d"} 1"#, false),
            (r#"a{le="1",le="x"} 1"#, false),
            ("a{b", false),
        ] {
            assert_eq!(has_valid_labels(line), is_valid, "{line}");
        }
    }

    #[test]
    fn numbers_are_written_as_in_go() {
        for (number, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.005, "0.005"),
            (1000.0, "1000"),
            (1e-4, "0.0001"),
            (1e-8, "1e-08"),
            (9.999_999_999_999_999e-6, "9.999999999999999e-06"),
            (1e21, "1e+21"),
            (1e100, "1e+100"),
        ] {
            assert_eq!(go_float(number), text);
        }
    }
}
