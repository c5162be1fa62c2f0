//! Questions on a terminal: kbr with a pseudo-terminal as its input and output, and typed answers.

use std::{
    ffi::OsStr,
    fs::{File, OpenOptions},
    io::{Read as _, Write as _},
    os::unix::ffi::OsStrExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

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
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&ours).expect("a terminal of ours");
        unlockpt(&ours).expect("a terminal that opens");
        let name = ptsname(&ours, Vec::new()).expect("a terminal with a name");
        let end = || -> Stdio {
            let path = OsStr::from_bytes(name.to_bytes());
            let opened = OpenOptions::new().read(true).write(true).open(path);
            opened.expect("the terminal").into()
        };
        let kbr = Command::new(env!("CARGO_BIN_EXE_kbr"))
            .args(arguments)
            .current_dir(folder)
            .env("TERM", "xterm")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("kbr runs");
        let keys = File::from(ours);
        let mut output = keys.try_clone().expect("a second handle");
        let (sender, screen) = mpsc::channel();
        thread::spawn(move || {
            let mut bytes = [0; 1024];
            // Reading the terminal fails once no process has it open.
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                if sender.send(bytes[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Session {
            kbr,
            keys,
            screen,
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
        !printed.contains('?') && !printed.contains("[y/n]"),
        "{printed}"
    );
    let project = std::fs::read_to_string(folder.path().join("PROJECT")).expect("a PROJECT");
    assert!(project.contains("domain = \"crew.example\"\n"), "{project}");

    let api = "create api --group crew --version v1 --kind Captain";
    let mut create = Session::start(folder.path(), &api.split(' ').collect::<Vec<_>>());
    create.answer("Create Resource [y/n]", "y");
    create.answer("Create Controller [y/n]", "n");
    let printed = create.end();
    assert_eq!(
        printed.matches("[y/n]").count(),
        printed.matches("Controller [y/n]").count(),
        "{printed}"
    );
    assert!(exists("api/src/crew/v1/captain.rs"), "{printed}");
    assert!(!exists("src/controllers/captain.rs"), "{printed}");
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
