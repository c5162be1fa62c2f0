//! Records `docs/pictures/dev-light.svg` and `dev-dark.svg`: the screen of `kbr dev` with the operator of `examples/foo`.
//! `make pictures` runs it. It needs a terminal of its own, so it opens a pseudo-terminal.

#[path = "../../tests/support/terminal.rs"]
mod pty;
mod svg;

use std::{
    env, fs,
    io::Write as _,
    num::NonZeroU16,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::Receiver,
    time::{Duration, Instant},
};

use pty::Pty;
use vt100::Parser;

const ROWS: u16 = 24;
const COLUMNS: u16 = 100;

/// Long enough for the first build.
const PATIENCE: Duration = Duration::from_secs(900);

/// A Deployment that is not the operator's, and a Foo of its name: the operator reports the conflict.
const CONFLICT: &str = r#"{ "apiVersion": "v1", "kind": "List", "items": [
  { "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" }, "spec": {
      "selector": { "matchLabels": { "app": "web" } }, "template": { "metadata": { "labels": { "app": "web" } },
      "spec": { "containers": [{ "name": "web", "image": "nginx:1.29" }] } } } },
  { "apiVersion": "samplecontroller.c9g.io/v1alpha1", "kind": "Foo", "metadata": { "name": "web" },
    "spec": { "image": "nginx:1.29", "replicas": 2 } } ] }"#;

fn main() {
    let kbr = PathBuf::from(env::args_os().nth(1).expect("the path of kbr"));
    let kbr = kbr.canonicalize().expect("kbr exists");
    let mut screen = Screen::start(&kbr);
    let cluster = screen.shows("cluster   export KUBECONFIG=");
    screen.shows("operator  running for");
    screen.shows("default/foo-sample                True");
    let kubeconfig = cluster.rsplit('=').next().expect("a path").trim();
    create(&kbr, kubeconfig, CONFLICT);
    screen.shows("ReconcileFailed");
    screen.shows("MinimumReplicasAvailable");
    screen.shows("3 Pods are available");
    screen.shows("errors and warnings");
    screen.shows("operator  running for 20s");
    let pictures = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pictures");
    for (name, theme) in [("dev-light.svg", svg::LIGHT), ("dev-dark.svg", svg::DARK)] {
        let picture = svg::picture(screen.terminal.screen(), &theme);
        fs::write(pictures.join(name), picture).expect("a writable folder");
    }
    screen.end();
}

/// Creates objects in the cluster of `kbr dev`, as an administrator.
fn create(kbr: &Path, kubeconfig: &str, objects: &str) {
    let path = Command::new(kbr).args(["envtest", "path"]).output();
    let path = String::from_utf8(path.expect("kbr runs").stdout).expect("UTF-8");
    let mut kubectl = Command::new(Path::new(path.trim()).join("kubectl"))
        .args(["--kubeconfig", kubeconfig, "create", "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("kubectl runs");
    let mut input = kubectl.stdin.take().expect("a pipe");
    input.write_all(objects.as_bytes()).expect("kubectl reads");
    drop(input);
    assert!(kubectl.wait().expect("kubectl ends").success());
}

/// `kbr dev`, and what its terminal shows.
struct Screen {
    program: Child,
    pty: Pty,
    output: Receiver<Vec<u8>>,
    terminal: Parser,
}

impl Screen {
    fn start(kbr: &Path) -> Self {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
        let pty = Pty::open();
        pty.resize(ROWS, COLUMNS);
        // kbr shows its screen on the terminal of its session.
        let program = Command::new("setsid")
            .args(["--ctty", "--wait"])
            .arg(kbr)
            .args(["dev", "--cluster", "--samples"])
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
    fn shows(&mut self, text: &str) -> String {
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

    fn end(mut self) {
        self.pty
            .keys
            .write_all(b"q")
            .expect("a terminal takes keys");
        while self.output.recv_timeout(PATIENCE).is_ok() {}
        assert!(self.program.wait().expect("kbr ends").success());
    }
}
