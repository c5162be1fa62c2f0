//! A pseudo-terminal for a program.

use std::{
    ffi::OsStr,
    fs::{File, OpenOptions},
    io::Read as _,
    os::unix::ffi::OsStrExt as _,
    path::PathBuf,
    process::Stdio,
    sync::mpsc::{self, Receiver},
    thread,
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

/// Our end of a terminal, and the path of the program's.
pub struct Pty {
    pub keys: File,
    path: PathBuf,
}

impl Pty {
    pub fn open() -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a pseudo-terminal");
        grantpt(&ours).expect("a terminal of ours");
        unlockpt(&ours).expect("a terminal that opens");
        let name = ptsname(&ours, Vec::new()).expect("a terminal with a name");
        Self {
            keys: File::from(ours),
            path: OsStr::from_bytes(name.to_bytes()).into(),
        }
    }

    /// The program's end: its input, its output or its errors.
    pub fn end(&self) -> Stdio {
        let opened = OpenOptions::new().read(true).write(true).open(&self.path);
        opened.expect("the terminal").into()
    }

    /// What the program prints from now on, in pieces.
    pub fn output(&self) -> Receiver<Vec<u8>> {
        let mut output = self.keys.try_clone().expect("a second handle");
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let mut bytes = [0; 1024];
            // Reading the terminal fails once no process has it open.
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                if sender.send(bytes[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        receiver
    }

    #[allow(dead_code)] // questions need no size
    pub fn resize(&self, rows: u16, columns: u16) {
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&self.keys, size).expect("a terminal has a size");
    }
}
