//! `kbr dev` in a terminal of its own, with the operator of `examples/foo`.

use std::{
    env,
    io::Write as _,
    num::NonZeroU16,
    path::Path,
    process::{Child, Command},
    sync::mpsc::Receiver,
    time::{Duration, Instant},
};

use vt100::Parser;

use super::pty::Pty;

const ROWS: u16 = 24;
const COLUMNS: u16 = 100;

/// Long enough for the first build.
const PATIENCE: Duration = Duration::from_secs(900);

/// `kbr dev`, and what its terminal shows.
pub struct Screen {
    program: Child,
    pty: Pty,
    output: Receiver<Vec<u8>>,
    pub terminal: Parser,
}

impl Screen {
    /// Starts it with flags for the operator.
    pub fn start(kbr: &Path, flags: &[String]) -> Self {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
        let pty = Pty::open();
        pty.resize(ROWS, COLUMNS);
        // kbr shows its screen on the terminal of its session.
        let program = Command::new("setsid")
            .args(["--ctty", "--wait"])
            .arg(kbr)
            .args(["dev", "--cluster", "--samples", "--"])
            .args(flags)
            .current_dir(repository.join("examples/foo"))
            .env("CARGO_TARGET_DIR", repository.join("target/projects"))
            .env("TERM", "xterm-256color")
            // Set for this repository by its .cargo/config.toml; the example has its own.
            .env_remove("K8S_OPENAPI_ENABLED_VERSION")
            .env_remove("NO_COLOR")
            .stdin(pty.end())
            .stdout(pty.end())
            .stderr(pty.end())
            .spawn()
            .expect("kbr runs");
        let size = |cells| NonZeroU16::new(cells).expect("more than nothing");
        Self {
            program,
            output: pty.output(),
            terminal: Parser::new(size(ROWS), size(COLUMNS), 0),
            pty,
        }
    }

    /// Waits until a line contains `text`, and returns that line.
    pub fn shows(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let contents = self.terminal.screen().contents();
            if let Some(line) = contents.lines().find(|line| line.contains(text)) {
                return line.to_owned();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.terminal.process(&bytes),
                Err(error) => panic!("{error}, waiting for {text:?}:\n{contents}"),
            }
        }
    }

    pub fn end(mut self) {
        self.pty
            .keys
            .write_all(b"q")
            .expect("a terminal takes keys");
        while self.output.recv_timeout(PATIENCE).is_ok() {}
        assert!(self.program.wait().expect("kbr ends").success());
    }
}
