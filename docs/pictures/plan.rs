//! What `kbr plan` prints, as a terminal shows it.

use std::{num::NonZeroU16, path::Path, process::Command};

use vt100::Parser;

/// Plans the second release of the operator of tests/plan, for a cluster with the first.
pub fn terminal(kbr: &Path) -> Parser {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pictures/plan.sh");
    let folder = kbr.parent().expect("a folder");
    let path = std::env::var("PATH").expect("a path");
    let output = Command::new(kbr)
        .args(["envtest", "run", "--", "sh", "-e"])
        .arg(script)
        .arg(folder.join("examples/releases"))
        .env("PATH", format!("{}:{path}", folder.display()))
        .output()
        .expect("kbr runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let columns = text.lines().map(|line| line.chars().count()).max();
    let size = |cells: usize| {
        let cells = u16::try_from(cells).ok().and_then(NonZeroU16::new);
        cells.expect("a size")
    };
    let mut terminal = Parser::new(
        size(text.lines().count()),
        size(columns.unwrap_or_default()),
        0,
    );
    terminal.process(text.trim_end().replace('\n', "\r\n").as_bytes());
    terminal
}
