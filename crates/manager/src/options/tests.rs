//! Test how flags are parsed.

use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    options: Options,
}

#[track_caller]
fn parse(flags: &[&str]) -> Options {
    let flags = ["captains"].iter().chain(flags);
    Cli::try_parse_from(flags).unwrap().options
}

#[test]
fn the_default_options_equal_those_without_flags() {
    // The environment of a test run may set these.
    let ours = |mut options: Options| {
        options.watch_namespace.clear();
        options.leader_election_namespace = None;
        options.log_level.clear();
        format!("{options:?}")
    };
    assert_eq!(ours(parse(&[])), ours(Options::default()));
}

#[test]
fn a_boolean_flag_takes_an_optional_value_as_in_go() {
    assert!(parse(&["--leader-elect"]).leader_elect);
    assert!(parse(&["--leader-elect=true"]).leader_elect);
    assert!(!parse(&["--leader-elect=false"]).leader_elect);
    assert!(!parse(&["--metrics-secure=false"]).metrics_secure);
}

#[test]
fn http2_is_rejected_with_the_reason() {
    assert!(!parse(&["--enable-http2=false"]).enable_http2);
    for flag in ["--enable-http2", "--enable-http2=true"] {
        let error = Cli::try_parse_from(["captains", flag]).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("HTTP/1.1 only") && error.contains("help: leave it out"),
            "{error}"
        );
    }
}

#[test]
fn the_help_has_each_flag_in_its_group() {
    use clap::CommandFactory as _;
    let help = Cli::command().render_help().to_string();
    let mut headings: Vec<_> = help.lines().filter(|line| line.ends_with(':')).collect();
    assert_eq!(
        headings.split_off(1),
        [
            "Metrics:",
            "Probes:",
            "Webhooks:",
            "Leader election:",
            "Reconciling:",
            "Shutdown:",
            "API server:",
            "Logs:",
        ]
    );
    // Clap's own flags have no heading.
    let (_, rest) = help.split_once("Options:").unwrap();
    let (ungrouped, _) = rest.split_once("Metrics:").unwrap();
    assert_eq!(ungrouped.trim().lines().count(), 1, "{ungrouped}");
}

#[test]
fn an_address_has_a_port_or_is_off() {
    for text in [":8443", "0.0.0.0:8443", "[::1]:80", "localhost:8443"] {
        assert_eq!(text.parse::<Address>().unwrap().get(), Some(text));
    }
    assert_eq!("0".parse::<Address>().unwrap().get(), None);
    for text in ["", "8443", "localhost", ":x", ":70000"] {
        assert!(text.parse::<Address>().is_err(), "{text}");
    }
}

#[test]
fn durations_are_written_as_in_go() {
    assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
    assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
    assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
    for text in ["", "15", "-1s", "soon"] {
        assert!(duration(text).is_err(), "{text}");
    }
}

#[test]
fn namespaces_are_a_list_without_empty_names() {
    let options = parse(&["--watch-namespace=b,a, ,b"]);
    assert_eq!(options.namespaces(), ["a", "b"]);
    assert!(parse(&["--watch-namespace="]).namespaces().is_empty());
}
