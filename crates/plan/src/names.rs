//! The names that an operator looks up in the sandbox: a server of DNS on its loopback, which knows none.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::{io, thread};

/// The port of DNS.
const PORT: u16 = 53;

/// The longest question, in bytes. Source: RFC 1035, 2.3.4.
const LONGEST: usize = 512;

/// The most names that are counted.
const MOST: usize = 1000;

/// What the sandbox has as `/etc/resolv.conf`.
pub const RESOLVER: &str = "nameserver 127.0.0.1\n";

/// How often each name was looked up.
#[derive(Clone, Debug, Default)]
pub struct Names(Arc<Mutex<BTreeMap<String, u64>>>);

impl Names {
    /// Answers each question with `NXDOMAIN`, in a thread of its own.
    ///
    /// # Errors
    /// The port is in use, or this process has no permission to bind it.
    pub fn serve() -> io::Result<Self> {
        let names = Self::default();
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, PORT))?;
        let asked = names.clone();
        thread::spawn(move || {
            let mut question = [0; LONGEST];
            while let Ok((length, from)) = socket.recv_from(&mut question) {
                if let Some((name, answer)) = answered(&question[..length]) {
                    asked.count(name);
                    // The client may have stopped waiting.
                    drop(socket.send_to(&answer, from));
                }
            }
        });
        Ok(names)
    }

    fn count(&self, name: String) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() < MOST || names.contains_key(&name) {
            *names.entry(name).or_default() += 1;
        }
    }

    /// The names since the last call.
    #[must_use]
    pub fn take(&self) -> BTreeMap<String, u64> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The name in a question, and the response `NXDOMAIN`. Source: RFC 1035, 4.1.
fn answered(question: &[u8]) -> Option<(String, Vec<u8>)> {
    let (header, mut rest) = question.split_at_checked(12)?;
    // A question, and one only.
    if header[2] & 0x80 != 0 || header[4..6] != [0, 1] {
        return None;
    }
    let mut labels = Vec::new();
    loop {
        let (length, after) = rest.split_first()?;
        if *length == 0 {
            rest = after;
            break;
        }
        // A pointer, which a question has no use for, is longer than any label.
        let (label, after) = after
            .split_at_checked(usize::from(*length))
            .filter(|_| *length < 64)?;
        labels.push(String::from_utf8_lossy(label).to_lowercase());
        rest = after;
    }
    // Its type and class.
    let end = question.len() - rest.len() + 4;
    let mut answer = question.get(..end)?.to_vec();
    // A response with the recursion that was asked for, and no such name; no records.
    answer[2..4].copy_from_slice(&[0x81, 0x83]);
    answer[6..12].fill(0);
    Some((labels.join("."), answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(labels: &[&str]) -> Vec<u8> {
        let mut question = vec![7, 8, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1];
        for label in labels {
            question.push(u8::try_from(label.len()).unwrap());
            question.extend(label.as_bytes());
        }
        question.extend([0, 0, 1, 0, 1]);
        question
    }

    #[test]
    fn a_question_is_answered_with_no_such_name() {
        // With an additional record, as most clients send one.
        let mut asked = question(&["S3", "example", "com"]);
        let end = asked.len();
        asked.extend([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
        let (name, answer) = answered(&asked).unwrap();
        assert_eq!(name, "s3.example.com");
        assert_eq!(answer[..12], [7, 8, 0x81, 0x83, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(answer[12..], asked[12..end]);
    }

    #[test]
    fn what_is_no_question_gets_no_answer() {
        let whole = question(&["example", "com"]);
        for length in 0..whole.len() {
            assert!(answered(&whole[..length]).is_none(), "{length}");
        }
        let mut pointer = whole.clone();
        pointer[12] = 0xc0;
        assert!(answered(&pointer).is_none());
        let mut response = whole;
        response[2] |= 0x80;
        assert!(answered(&response).is_none());
    }
}
