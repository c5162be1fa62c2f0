//! Questions on a terminal: kbr with a pseudo-terminal as its input and output, and typed answers.

#[path = "support/terminal.rs"]
mod pty;

use std::{
    fs::File,
    io::Write as _,
    path::Path,
    process::{Child, Command},
    sync::mpsc::Receiver,
    time::Duration,
};

use pty::Pty;

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// kbr at a terminal.
struct Session {
    kbr: Child,
    keys: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
}

impl Session {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_with(folder, arguments, &[])
    }

    fn start_with(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let pty = Pty::open();
        let kbr = Command::new(env!("CARGO_BIN_EXE_kbr"))
            .args(arguments)
            .current_dir(folder)
            .env("TERM", "xterm")
            .env_remove("NO_COLOR")
            .envs(environment.iter().copied())
            .stdin(pty.end())
            .stdout(pty.end())
            .stderr(pty.end())
            .spawn()
            .expect("kbr runs");
        Session {
            kbr,
            screen: pty.output(),
            keys: pty.keys,
            seen: String::new(),
        }
    }

    /// Waits for `question`, and types `answer` and Enter.
    #[track_caller]
    fn answer(&mut self, question: &str, answer: &str) {
        while !self.seen.contains(question) {
            let more = self.screen.recv_timeout(PATIENCE);
            let more = more.unwrap_or_else(|error| panic!("{error}: {}", self.seen));
            self.seen += &String::from_utf8_lossy(&more);
        }
        // Continue after the question.
        let (_, rest) = self.seen.split_once(question).expect("it is there");
        self.seen = rest.to_owned();
        write!(self.keys, "{answer}\r").expect("a terminal takes keys");
    }

    /// The output after the last question, if kbr succeeded.
    #[track_caller]
    fn end(mut self) -> String {
        while let Ok(more) = self.screen.recv_timeout(PATIENCE) {
            self.seen += &String::from_utf8_lossy(&more);
        }
        let status = self.kbr.wait().expect("kbr ends");
        assert!(status.success(), "{status}: {}", self.seen);
        std::mem::take(&mut self.seen)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A failed test must not leave a process that waits for an answer.
        drop(self.kbr.kill());
        drop(self.kbr.wait());
    }
}

#[test]
fn init_asks_for_the_domain_and_create_api_for_what_to_create() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let exists = |path: &str| folder.path().join(path).exists();

    let mut init = Session::start(folder.path(), &["init", "--project-name", "captains"]);
    init.answer("Domain [my.domain]", "crew.example");
    let printed = init.end();
    assert!(printed.contains("domain crew.example\r\n"), "{printed}");
    assert!(
        !printed.contains('?') && !printed.contains("[Y/n]"),
        "{printed}"
    );
    let project = std::fs::read_to_string(folder.path().join("PROJECT")).expect("a PROJECT");
    assert!(project.contains("domain = \"crew.example\"\n"), "{project}");

    let api = "create api --group crew --version v1 --kind Captain";
    let mut create = Session::start(folder.path(), &api.split(' ').collect::<Vec<_>>());
    create.answer("Create Resource [Y/n]", "y");
    create.answer("Create Controller [Y/n]", "n");
    let printed = create.end();
    assert_eq!(
        printed.matches("[Y/n]").count(),
        printed.matches("Controller [Y/n]").count(),
        "{printed}"
    );
    assert!(exists("api/src/crew/v1/captain.rs"), "{printed}");
    assert!(!exists("src/controllers/captain.rs"), "{printed}");
}

#[test]
fn what_changes_before_the_answer_counts() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kbr = |line: &str| {
        let mut kbr = Command::new(env!("CARGO_BIN_EXE_kbr"));
        let output = kbr
            .args(line.split(' '))
            .current_dir(folder.path())
            .output();
        assert!(output.expect("kbr runs").status.success(), "{line}");
    };
    kbr("init --domain example.com --project-name captains");
    let api = "create api --group crew --version v2 --kind Captain";
    let mut create = Session::start(folder.path(), &api.split(' ').collect::<Vec<_>>());
    create.answer("Create Resource [Y/n]", "y");
    // A question locks nothing.
    kbr("create api --group crew --version v1 --kind Captain --resource --controller=false");
    create.answer("Create Controller [Y/n]", "n");
    let printed = create.end();
    let note = "note: `Captain` v2 is served but not stored";
    assert!(printed.contains(note), "{printed}");
    let types = std::fs::read_to_string(folder.path().join("api/src/crew/v2/captain.rs"));
    let types = types.expect("the types");
    assert!(types.contains("storage = false"), "{types}");
}

#[test]
fn an_invalid_answer_is_asked_again_and_enter_selects_the_default() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut init = Session::start(folder.path(), &["init", "--project-name", "captains"]);
    init.answer("Domain [my.domain]", "No Domain");
    init.answer("`No Domain` is not a domain", "");
    let printed = init.end();
    assert!(printed.contains("domain my.domain"), "{printed}");
}

#[test]
fn help_is_styled_on_a_terminal_unless_no_color_is_set() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let help = |environment: &[(&str, &str)]| {
        let arguments = ["create", "api", "--help"];
        Session::start_with(folder.path(), &arguments, environment).end()
    };
    assert!(help(&[]).contains("\x1b["));
    let plain = help(&[("NO_COLOR", "1")]);
    assert!(
        !plain.contains('\x1b') && plain.contains("--group"),
        "{plain}"
    );
}
