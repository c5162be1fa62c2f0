//! The name of the Lease, as Go files give it to controller-runtime: a text, constants, or a concatenation of both.

use crate::resource::names;

/// A Go file: its path and its text.
type Source<'a> = (&'a String, &'a String);

/// Constants that are made of constants.
const DEEPEST: usize = 8;

/// How far a file is from the program: the lowest has its options.
pub fn rank(path: &str) -> usize {
    match path {
        "cmd/main.go" => 0,
        "main.go" => 1,
        path if path.ends_with("/main.go") => 2,
        _ => 3,
    }
}

/// The Lease of the program that is imported; `None` if it is unknown, or if several programs may be that one.
pub fn lease(sources: &[Source]) -> Option<String> {
    let of_rank = |wanted: usize| {
        let files = sources.iter().filter(move |(path, _)| rank(path) == wanted);
        let all = files.flat_map(|file| options(file.1).map(move |it| (file, it)));
        all.collect::<Vec<_>>()
    };
    let found = (0..4).map(of_rank).find(|all| !all.is_empty())?;
    let values = found.iter().map(|(file, it)| value(it, file, sources, 0));
    // Other names are not those of a Lease, and would change the role in which they stand.
    equal(values).filter(|name| names::is_subdomain(name))
}

/// The expressions of `LeaderElectionID: "3f7a.example.com",` and `options.LeaderElectionID = name`.
fn options(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let (before, after) = line.split_once("LeaderElectionID")?;
        let after = after.trim_start();
        if before.contains("//") {
            None
        } else if before.ends_with('.') {
            after.strip_prefix('=').filter(|it| !it.starts_with('='))
        } else {
            let is_key = before.trim().is_empty() || before.trim_end().ends_with(['{', ',']);
            after.strip_prefix(':').filter(|_| is_key)
        }
    })
}

/// The text that an expression in a file is.
fn value(expression: &str, file: &Source, all: &[Source], depth: usize) -> Option<String> {
    let is_name = |it: char| it.is_alphanumeric() || "_.".contains(it);
    let mut rest = expression.trim_start();
    let mut text = String::new();
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (part, after) = quoted.split_once('"')?;
            text.push_str(part);
            rest = after;
        } else {
            let end = rest.find(|it| !is_name(it)).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            text.push_str(&named(name, file, all, depth)?);
            rest = after;
        }
        rest = rest.trim_start();
        match rest.strip_prefix('+') {
            Some(more) => rest = more.trim_start(),
            None if rest.is_empty() || rest.starts_with([',', '}']) => return Some(text),
            None if rest.starts_with("//") => return Some(text),
            None => return None,
        }
    }
}

/// The text of a constant or variable: of the file, of its package, or of the package whose folder has the name before the point.
fn named(name: &str, file: &Source, all: &[Source], depth: usize) -> Option<String> {
    if name.is_empty() || depth == DEEPEST {
        return None;
    }
    let folder = |path: &str| path.rsplit_once('/').map_or("", |it| it.0).to_owned();
    let values = |files: &[&Source], name: &str| {
        let defined = files
            .iter()
            .flat_map(|file| definitions(file.1, name).map(move |it| (file, it)));
        equal(defined.map(|(file, it)| value(it, file, all, depth + 1)))
    };
    if let Some((package, name)) = name.split_once('.') {
        let package = imported(file.1, package);
        let is_there = |it: &&Source| folder(it.0).rsplit('/').next() == Some(package);
        return values(&all.iter().filter(is_there).collect::<Vec<_>>(), name);
    }
    if definitions(file.1, name).next().is_some() {
        return values(&[file], name);
    }
    let is_beside = |it: &&Source| folder(it.0) == folder(file.0);
    values(&all.iter().filter(is_beside).collect::<Vec<_>>(), name)
}

/// The last part of the path that a file imports under this name: `config "example.com/internal/settings"`.
fn imported<'a>(text: &'a str, name: &'a str) -> &'a str {
    let path = |line: &'a str| {
        let line = line.trim();
        let line = line.strip_prefix("import ").unwrap_or(line);
        let path = line.strip_prefix(name)?.strip_prefix(" \"")?;
        path.trim_end_matches('"').rsplit('/').next()
    };
    text.lines().find_map(path).unwrap_or(name)
}

/// The expressions of `const name = "a"`, `name string = "a"` and `name := "a"`.
fn definitions<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| {
        let line = line.trim_start();
        let line = ["const ", "var "]
            .iter()
            .find_map(|word| line.strip_prefix(word))
            .unwrap_or(line);
        let rest = line.strip_prefix(name)?;
        let rest = rest.strip_prefix(" string").unwrap_or(rest).trim_start();
        let rest = rest.strip_prefix(":=").or_else(|| rest.strip_prefix('='))?;
        (!rest.starts_with('=')).then_some(rest)
    })
}

/// The value, if all are known and the same.
fn equal(mut values: impl Iterator<Item = Option<String>>) -> Option<String> {
    let first = values.next()??;
    values
        .all(|it| it.as_ref() == Some(&first))
        .then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    type File<'a> = (&'a str, &'a str);

    fn lease_of(files: &[File<'_>]) -> Option<String> {
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        let sources: Vec<_> = files.iter().map(|(path, text)| (path, text)).collect();
        lease(&sources)
    }

    #[track_caller]
    fn check(main: &str, expected: &str) {
        let constants =
            "package config\n\nconst (\n\tPrefix = \"sea-\"\n\tOther = Prefix + \"tide\"\n)\n";
        let beside = "package main\n\nvar name string = \"harbour\"\n";
        let found = lease_of(&[
            ("cmd/a.go", beside),
            ("cmd/main.go", main),
            ("internal/config/c.go", constants),
        ]);
        assert_eq!(found.as_deref().unwrap_or("none"), expected, "{main}");
    }

    #[test]
    fn constants_concatenations_and_assignments_are_resolved() {
        check(
            "\tLeaderElectionID:       \"3f.example.com\",\n",
            "3f.example.com",
        );
        check("o := ctrl.Options{LeaderElectionID: name}\n", "harbour");
        check("o.LeaderElectionID = name\n", "harbour");
        check("LeaderElectionID: config.Other, // the Lease\n", "sea-tide");
        check(
            "LeaderElectionID: config.Prefix + \"a\" + name,\n",
            "sea-aharbour",
        );
        check(
            "import c \"example.com/internal/config\"\nLeaderElectionID: c.Prefix + name,\n",
            "sea-harbour",
        );
        check("\tid := \"captain\"\n\tLeaderElectionID: id,\n", "captain");
        // A comment is none.
        check(
            "// LeaderElectionID: \"old\",\nLeaderElectionID: name,\n",
            "harbour",
        );
    }

    #[test]
    fn what_is_not_a_constant_is_unknown() {
        for main in [
            "",
            "LeaderElectionID: fmt.Sprintf(\"%s-lock\", name),\n",
            "LeaderElectionID: opts.LeaderElectionID,\n",
            "LeaderElectionID: *id,\n",
            "LeaderElectionID: \"a\" + id,\n",
            "LeaderElectionID: loop,\nvar loop = loop\n",
            "id := \"a\"\nif b {\n\tid = \"b\"\n}\nLeaderElectionID: id,\n",
            "LeaderElectionID: \"a, b]\",\n",
            "LeaderElectionID: \"a\",\nLeaderElectionID: \"b\",\n",
            "const LeaderElectionID = \"a\"\n",
        ] {
            check(main, "none");
        }
    }

    #[test]
    fn of_several_programs_that_of_the_main_file_wins() {
        let id = |name: &str| format!("LeaderElectionID: \"{name}\",\n");
        let (a, b) = (id("a"), id("b"));
        let cases: [(&[File<'_>], Option<&str>); 4] = [
            (&[("cmd/cert.go", &a), ("cmd/main.go", &b)], Some("b")),
            (&[("cmd/a/cert.go", &a), ("cmd/a/main.go", &b)], Some("b")),
            (&[("cmd/a/main.go", &a), ("main.go", &b)], Some("b")),
            (&[("cmd/a/main.go", &a), ("cmd/b/main.go", &b)], None),
        ];
        for (files, expected) in cases {
            assert_eq!(lease_of(files).as_deref(), expected, "{files:?}");
        }
    }
}
