//! Copies an answer of a server that may be endless or fall silent.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a server may send nothing.
const SILENCE: Duration = Duration::from_secs(60);
/// How often to report.
const REPORT: Duration = Duration::from_secs(3);

/// Why not everything was copied.
#[derive(Debug)]
pub enum Stopped {
    /// There are more bytes than the limit.
    TooLarge,
    /// The server or the connection failed.
    Reading(io::Error),
    Writing(io::Error),
}

/// Copies everything, at most `limit` bytes, and reports the number of bytes so far every few seconds and at the end.
pub fn copy(
    from: impl Read + Send + 'static,
    to: &mut impl Write,
    limit: u64,
    report: impl FnMut(u64),
) -> Result<(), Stopped> {
    copy_within([SILENCE, REPORT], from, to, limit, report)
}

fn copy_within(
    [silence, every]: [Duration; 2],
    from: impl Read + Send + 'static,
    to: &mut impl Write,
    limit: u64,
    mut report: impl FnMut(u64),
) -> Result<(), Stopped> {
    let parts = read_in_thread(from);
    let (mut count, mut reported) = (0, Instant::now());
    loop {
        let part = match parts.recv_timeout(silence) {
            Ok(part) => part.map_err(Stopped::Reading)?,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let text = format!("the server sent nothing for {} s", silence.as_secs());
                return Err(Stopped::Reading(io::Error::new(ErrorKind::TimedOut, text)));
            }
        };
        count += part.len() as u64;
        if count > limit {
            return Err(Stopped::TooLarge);
        }
        to.write_all(&part).map_err(Stopped::Writing)?;
        if reported.elapsed() >= every {
            reported = Instant::now();
            report(count);
        }
    }
    report(count);
    Ok(())
}

/// Reads in a thread, because a read of a silent connection does not return. The channel is closed at the end.
fn read_in_thread(mut from: impl Read + Send + 'static) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::sync_channel(4);
    thread::spawn(move || {
        loop {
            let mut part = vec![0; 64 << 10];
            let result = match from.read(&mut part) {
                Ok(0) => return,
                Ok(count) => {
                    part.truncate(count);
                    Ok(part)
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let failed = result.is_err();
            if sender.send(result).is_err() || failed {
                return;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends one byte, and then nothing until the test ends.
    struct Silent {
        end: Receiver<()>,
        sent: bool,
    }

    impl Read for Silent {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.sent {
                let _ = self.end.recv();
                return Ok(0);
            }
            self.sent = true;
            buffer[0] = b'a';
            Ok(1)
        }
    }

    #[test]
    fn a_silent_server_is_given_up() {
        let (_sender, end) = mpsc::channel();
        let silent = Silent { end, sent: false };
        let mut out = Vec::new();
        let result = copy_within(
            [Duration::from_millis(50), REPORT],
            silent,
            &mut out,
            10,
            |_| (),
        );
        let Err(Stopped::Reading(error)) = result else {
            panic!("{result:?}");
        };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(out, b"a");
    }

    #[test]
    fn the_number_of_bytes_is_reported_now_and_then_and_at_the_end() {
        let reports = |every| {
            let (bytes, mut reports) = (vec![b'a'; 200_000], Vec::new());
            let report = |count| reports.push(count);
            let bytes = io::Cursor::new(bytes);
            copy_within([SILENCE, every], bytes, &mut Vec::new(), 200_000, report).unwrap();
            reports
        };
        assert_eq!(reports(Duration::MAX), [200_000]);
        let all = reports(Duration::ZERO);
        assert!(all.len() > 3 && all.is_sorted(), "{all:?}");
    }

    #[test]
    fn no_more_is_written_than_the_limit() {
        let mut out = Vec::new();
        let result = copy(io::repeat(b'a'), &mut out, 200_000, |_| ());
        assert!(matches!(result, Err(Stopped::TooLarge)), "{result:?}");
        assert!(out.len() <= 200_000);
        out.clear();
        copy(&b"abc"[..], &mut out, 3, |_| ()).unwrap();
        assert_eq!(out, b"abc");
        assert!(copy(&b"abc"[..], &mut out, 2, |_| ()).is_err());
    }
}
