//! Choices that a number makes, and what can be in the place of a small file.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use crate::sent::Sent;

/// The way of one number through the choices.
pub struct Choice(pub u64);

impl Choice {
    pub fn below(&mut self, end: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap() % end
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Where a link leads.
const TARGETS: [&str; 9] = [
    "victim",
    "victim/tree",
    "victim/empty",
    "victim/key",
    "victim/tree/0",
    "victim/src",
    "victim/src/main.rs",
    "victim/missing",
    "victim/Cargo.toml",
];

/// Something else than a small file at `path`.
pub fn odd(sent: &Sent, path: &str, choice: &mut Choice) -> String {
    let at = sent.root.join(path);
    if !sent.clear(path) {
        return format!("nothing at {path}");
    }
    let what = choice.below(8);
    match what {
        0 => mknodat(CWD, &at, FileType::Fifo, Mode::RWXU, 0).unwrap(),
        1 => device(&at),
        2 => symlink("/dev/zero", &at).unwrap(),
        3 => File::create(&at).unwrap().set_len(1 << 40).unwrap(),
        4 => symlink(sent.outside.path().join(choice.of(&TARGETS)), &at).unwrap(),
        5 => {
            // As a clone carries it.
            let up = "../".repeat(path.matches('/').count() + 1);
            symlink(up + choice.of(&TARGETS), &at).unwrap();
        }
        6 => symlink(".", &at).unwrap(),
        _ => fs::create_dir(&at).unwrap(),
    }
    format!("{path} is odd: {what}")
}

/// `/dev/zero` itself; a link to it where only root may make one.
fn device(path: &Path) {
    let made = mknodat(
        CWD,
        path,
        FileType::CharacterDevice,
        Mode::RWXU,
        makedev(1, 5),
    );
    if made.is_err() {
        symlink("/dev/zero", path).unwrap();
    }
}
