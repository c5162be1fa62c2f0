//! A generated project in a test.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use super::{
    library,
    support::{KBR, write},
};

/// Whether this is `make test-release`, which has time for every case.
pub fn before_a_release() -> bool {
    std::env::var("KBR_TESTS").as_deref() == Ok("release")
}

/// A project in an initially empty folder, and the target folder that it shares with others. When the test ends, the folder is renamed to
/// the project's name.
pub struct Project(pub PathBuf, PathBuf, &'static str);

impl Drop for Project {
    fn drop(&mut self) {
        let named = self.0.with_file_name(self.2);
        if self.0 != named {
            // A folder that cannot be renamed is removed before the next project is created.
            fs::remove_dir_all(&named).ok();
            fs::rename(&self.0, named).ok();
        }
    }
}

impl Project {
    pub fn new(folder: &Path, build: &Path, name: &'static str) -> Self {
        if folder.exists() {
            fs::remove_dir_all(folder).expect("a removable folder");
        }
        fs::create_dir_all(folder).expect("a folder");
        Self(folder.to_owned(), build.to_owned(), name)
    }

    /// The operator, once it is built.
    pub fn operator(&self, name: &str) -> PathBuf {
        self.1.join("debug").join(name)
    }

    /// Runs a command in the project; shows its output if it fails.
    pub fn run(&self, program: &str, args: &[&str]) -> String {
        let output = self.command(program, args).stdin(Stdio::null()).output();
        let output = output.unwrap_or_else(|error| panic!("cannot run `{program}`: {error}"));
        self.succeeded(&format!("{program} {}", args.join(" ")), &output)
    }

    /// Runs a command that must fail; returns its output.
    pub fn fails(&self, program: &str, args: &[&str]) -> String {
        let output = self.command(program, args).stdin(Stdio::null()).output();
        let output = output.unwrap_or_else(|error| panic!("cannot run `{program}`: {error}"));
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        assert!(
            !output.status.success(),
            "`{program} {}` did not fail:\n{printed}",
            args.join(" ")
        );
        printed
    }

    /// A command in the project, which finds kbr.
    pub fn command(&self, program: &str, args: &[&str]) -> Command {
        library::keep(&self.0, &self.1);
        let kbr = Path::new(KBR)
            .parent()
            .expect("the binary lies in a folder");
        let path = std::env::var("PATH").expect("there is a PATH");
        let mut command = Command::new(program);
        if !before_a_release() {
            // Controllers are simulated for so long each, rather than until all histories are tried: the catalogue tests the simulation.
            command.env("KBR_SIMULATE", "1s");
        }
        command
            .args(args)
            .current_dir(&self.0)
            .env("PATH", format!("{}:{path}", kbr.display()))
            .env("CARGO_TARGET_DIR", &self.1)
            // Set for this repository by its .cargo/config.toml; a project has its own.
            .env_remove("K8S_OPENAPI_ENABLED_VERSION")
            .env_remove("MAKEFLAGS")
            .env_remove("MAKELEVEL");
        command
    }

    fn succeeded(&self, what: &str, output: &Output) -> String {
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "`{what}` in {}:\n{out}\n{err}",
            self.0.display()
        );
        out
    }

    pub fn kbr(&self, words: &str) {
        let mut words: Vec<_> = words.split(' ').collect();
        // The default would be the folder's name.
        if words[0] == "init" && !words.contains(&"--project-name") {
            words.extend(["--project-name", self.2]);
        }
        self.run(KBR, &words);
    }

    pub fn create_api(&self, words: &str) {
        self.kbr(&format!("create api {words}"));
    }

    /// The checks of every state: manifests, formatting, clippy.
    pub fn lint(&self) {
        self.run("cargo", &["metadata", "--locked", "--format-version", "1"]);
        self.run("make", &["manifests", "lint"]);
        self.run(KBR, &["manifests", "--check"]);
    }

    /// Builds like a user, without test features, and asserts that there are no warnings.
    pub fn builds_without_a_warning(&self) {
        let output = self.command("cargo", &["build", "--workspace"]).output();
        let output = output.unwrap_or_else(|error| panic!("cannot run `cargo`: {error}"));
        self.succeeded("cargo build", &output);
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(!printed.contains("warning"), "{printed}");
    }

    /// A newer compiler may have more warnings, so this compiles the library with lints that it violates: cargo must not show them.
    pub fn library_is_silent_under_any_lint(&self) {
        let wrapper = self.0.join("target/strict-rustc");
        let script = "#!/bin/sh\ncase \" $* \" in\n*' --crate-name manager '* | *' --crate-name kbr_testing '*) exec \"$@\" -Wunused_results -Wunreachable_pub -Dwarnings ;;\n\
                      *) exec \"$@\" ;;\nesac\n";
        write(&wrapper, script.as_bytes());
        self.run("chmod", &["+x", "target/strict-rustc"]);
        let script = "touch third_party/*/src/lib.rs; cargo build --workspace --tests";
        let mut build = self.command("sh", &["-c", script]);
        let output = build.env("RUSTC_WRAPPER", &wrapper).output();
        let output = output.unwrap_or_else(|error| panic!("cannot run `cargo`: {error}"));
        self.succeeded("cargo build", &output);
        let printed = String::from_utf8_lossy(&output.stderr);
        for package in kbr_scaffold::library::packages() {
            let compiling = format!("Compiling {package}");
            assert!(printed.contains(&compiling), "{printed}");
        }
        assert!(!printed.contains("warning"), "{printed}");
    }

    /// Unit tests, and integration tests in which the operator brings each sample to `Ready` on a real API server.
    pub fn test(&self) {
        self.run("make", &["test"]);
    }

    /// Lints and tests this state before a release. Otherwise the next state that is tested has the same files, and more.
    pub fn checked_before_a_release(&self) {
        if before_a_release() {
            self.lint();
            self.test();
        }
    }

    /// Runs a shell script with a cluster and its `kubectl`.
    pub fn cluster(&self, script: &str) -> String {
        self.run(KBR, &["envtest", "run", "--", "sh", "-e", "-c", script])
    }

    /// Answers the two questions of `create api` with yes.
    pub fn answer_yes(&self, words: &str) {
        self.run(
            "sh",
            &["-c", &format!("printf 'y\\ny\\n' | kbr create api {words}")],
        );
    }

    /// Replaces `from`, which occurs once, in a file.
    pub fn replace(&self, path: &str, from: &str, to: &str) {
        let path = self.0.join(path);
        let text = fs::read_to_string(&path).expect("a file");
        assert_eq!(
            text.matches(from).count(),
            1,
            "`{from}` is in {} once",
            path.display()
        );
        fs::write(&path, text.replace(from, to)).expect("a writable file");
    }

    /// Writes the user's code into a function of a scaffolded webhook, above its result.
    pub fn implement(&self, path: &str, function: &str, code: &str) {
        let text = fs::read_to_string(self.0.join(path)).expect("a file");
        let (before, signature, body) = split(&text, function);
        let result = body.find("Ok(").expect("a result");
        let line = body[..result].rfind('\n').map_or(0, |end| end + 1);
        let text = format!("{before}{signature}{code}\n{}", &body[line..]);
        write(&self.0.join(path), text.as_bytes());
    }

    /// The example in the comment of a scaffolded function, as code. The comment's first paragraph explains it.
    pub fn example(&self, path: &str, function: &str) -> String {
        let text = fs::read_to_string(self.0.join(path)).expect("a file");
        let (_, _, body) = split(&text, function);
        let comment = body
            .lines()
            .skip_while(|line| !line.contains("// "))
            .map_while(|line| line.trim().strip_prefix("//"));
        let code = comment.skip_while(|line| !line.is_empty());
        code.collect::<Vec<_>>().join("\n")
    }
}

/// What is before a function, its signature, and the rest.
fn split<'a>(text: &'a str, function: &str) -> (&'a str, &'a str, &'a str) {
    let name = format!("fn {function}(");
    let start = text.find(&name).expect("the function");
    let body = start + text[start..].find("{\n").expect("a body") + 2;
    (&text[..start], &text[start..body], &text[body..])
}
