//! The program of an operator in Go: what its images run, and the flags that it has.

use std::collections::BTreeSet;

use super::{Files, lease, source};

/// The programs of the root's Dockerfile, or of those that the Makefile names: `ENTRYPOINT ["/manager"]`.
pub fn programs(files: &Files) -> Vec<String> {
    let root = files.get("Dockerfile");
    let makefile = files.get("Makefile").filter(|_| root.is_none());
    let words = makefile.map_or("", String::as_str).split_whitespace();
    let named = words
        .map(|word| word.strip_prefix("--file=").unwrap_or(word))
        .filter_map(|word| files.get(word.strip_prefix("./").unwrap_or(word)));
    let is_new = |names: &mut BTreeSet<String>, name: &str| names.insert(name.to_owned());
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    for text in root.into_iter().chain(named) {
        for name in text.lines().filter_map(program) {
            if is_new(&mut seen, name) {
                found.push(name.to_owned());
            }
        }
    }
    found
}

/// The program that a line of a Dockerfile starts, also behind an init: `ENTRYPOINT ["/sbin/tini", "--", "captains"]`.
fn program(line: &str) -> Option<&str> {
    let words = line.strip_prefix("ENTRYPOINT ")?;
    let mut words = words
        .split(['[', ']', ',', '"', ' '])
        .filter(|it| !it.is_empty());
    let first = words.next()?;
    let program = words.skip_while(|it| *it != "--").nth(1);
    let name = program.unwrap_or(first).rsplit('/').next()?;
    source::is_field_manager(name).then_some(name)
}

/// The flags that a program of an operator has in every project of kubebuilder, and those of kbr's own.
const USUAL: [&str; 26] = [
    "enable-http2",
    "enable-leader-election",
    "enable-webhooks",
    "health-probe-addr",
    "health-probe-bind-address",
    "kubeconfig",
    "leader-elect",
    "leader-election-id",
    "leader-election-lease-duration",
    "leader-election-namespace",
    "leader-election-renew-deadline",
    "leader-election-retry-period",
    "log-level",
    "max-concurrent-reconciles",
    "metrics-addr",
    "metrics-bind-address",
    "metrics-cert-key",
    "metrics-cert-name",
    "metrics-cert-path",
    "metrics-secure",
    "watch-namespace",
    "webhook-cert-key",
    "webhook-cert-name",
    "webhook-cert-path",
    "webhook-port",
    "zap-devel",
];

/// The flags of the programs, without those that kbr's have, too: `flag.StringVar(&tide, "tide", "high", "The tide.")`.
pub fn flags(sources: &[(&String, &String)]) -> Vec<String> {
    let is_main = |path: &str| lease::rank(path) < 3;
    let texts = sources.iter().filter(|(path, _)| is_main(path));
    let found = texts.flat_map(|(_, text)| text.lines().filter_map(flag));
    let found: BTreeSet<_> = found.filter(|name| !USUAL.contains(name)).collect();
    found.into_iter().map(str::to_owned).collect()
}

/// The name of the flag that a line defines, with the standard library or pflag.
fn flag(line: &str) -> Option<&str> {
    const TYPES: [&str; 9] = [
        "Bool",
        "Duration",
        "Float64",
        "Int",
        "Int64",
        "String",
        "StringSlice",
        "Uint",
        "",
    ];
    let line = line.trim();
    // cobra: `command.Flags().StringVar(`.
    let set = line.find("lags().").map_or(0, |at| at + "lags()".len());
    let (call, arguments) = line[set..].split_once('(')?;
    let owner = line[..set + call.len()].to_lowercase();
    let function = call.rsplit('.').next().filter(|it| it.len() < call.len())?;
    let ty = function.strip_suffix('P').unwrap_or(function);
    let (ty, is_var) = match ty.strip_suffix("Var") {
        Some(ty) => (ty, true),
        None => (ty, false),
    };
    let place = arguments.strip_prefix('&').filter(|_| is_var);
    let arguments = match place {
        Some(place) => place.split_once(", ")?.1,
        None => arguments,
    };
    let is_flag = is_var && place.is_some() || owner.contains("flag") || owner.contains("fs.");
    let (name, _) = arguments.strip_prefix('"')?.split_once('"')?;
    let is_name = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    let is_named = !name.is_empty() && name.chars().all(is_name);
    (TYPES.contains(&ty) && is_flag && is_named).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_the_entry_point() {
        let programs = |files: &[(&str, &str)]| {
            let files = files.iter();
            let files = files.map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
            super::programs(&files.collect()).join(" ")
        };
        for (line, expected) in [
            ("ENTRYPOINT [\"/manager\"]", "manager"),
            ("ENTRYPOINT [ \"/bin/captains\", \"run\" ]", "captains"),
            (
                "ENTRYPOINT [\"/sbin/tini\", \"--\", \"captains\"]",
                "captains",
            ),
            (
                "ENTRYPOINT /usr/local/bin/captains --leader-elect",
                "captains",
            ),
            (
                "ENTRYPOINT [\"/a\"]\nFROM b\nENTRYPOINT [\"/b\"]\nENTRYPOINT /a",
                "a b",
            ),
            ("ENTRYPOINT [\"$PROGRAM\"]", ""),
            ("CMD [\"/a\"]", ""),
        ] {
            assert_eq!(programs(&[("Dockerfile", line)]), expected, "{line}");
        }
        let build = ("build/Dockerfile", "ENTRYPOINT /captains");
        let makefile = (
            "Makefile",
            "build:\n\tdocker build -f ./build/Dockerfile .\n",
        );
        assert_eq!(programs(&[build]), "");
        assert_eq!(programs(&[build, makefile]), "captains");
        assert_eq!(programs(&[("Dockerfile", "FROM a"), build, makefile]), "");
    }

    #[test]
    fn flags_are_those_of_the_main_file_that_not_every_operator_has() {
        for (line, expected) in [
            (
                "\tflag.StringVar(&tide, \"tide\", \"high\", \"The tide.\")",
                "tide",
            ),
            ("tide := flag.String(\"tide\", \"\", \"\")", "tide"),
            (
                "\tpflag.IntVarP(&depth, \"depth\", \"d\", 1, \"\")",
                "depth",
            ),
            (
                "cmd.Flags().DurationVar(&o.wait, \"wait\", 0, \"\")",
                "wait",
            ),
            ("flag.BoolVar(&elect, \"leader-elect\", false, \"\")", ""),
            ("zap.String(\"tide\", high)", ""),
            ("flag.Parse()", ""),
        ] {
            let (path, text) = ("cmd/main.go".to_owned(), line.to_owned());
            assert_eq!(flags(&[(&path, &text)]).join(" "), expected, "{line}");
            assert_eq!(flags(&[(&"a.go".to_owned(), &text)]), [""; 0]);
        }
    }
}
