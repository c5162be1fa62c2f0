//! The random key of one clone, and the pseudo-random bytes that it makes of a value: HMAC-SHA-256 (RFC 2104) in counter mode.

use anyhow::Context as _;
use rcgen::KeyPair;
use sha2::{Digest as _, Sha256};

const BLOCK: usize = 64;
const LENGTH: usize = 32;

/// A key, which is never written.
pub struct Key([u8; LENGTH]);

impl Key {
    /// A random key. The private key of a new key pair is 32 bytes of the system's generator, and its hash is as random.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn random() -> anyhow::Result<Key> {
        let pair = KeyPair::generate().context("cannot read random numbers of the system")?;
        Ok(Key(Sha256::digest(pair.serialized_der()).into()))
    }

    /// The HMAC of the parts, one after the other.
    pub fn hmac(&self, parts: &[&[u8]]) -> [u8; LENGTH] {
        let padded = |pad: u8| {
            let mut block = [pad; BLOCK];
            block
                .iter_mut()
                .zip(self.0)
                .for_each(|(to, key)| *to ^= key);
            block
        };
        let mut inner = Sha256::new_with_prefix(padded(0x36));
        for part in parts {
            inner.update(part);
        }
        let outer = Sha256::new_with_prefix(padded(0x5c));
        outer.chain_update(inner.finalize()).finalize().into()
    }

    /// Bytes that depend on `value` and on `attempt`.
    pub fn stream(&self, value: &[u8], attempt: u32) -> Stream<'_> {
        Stream {
            key: self,
            seed: self.hmac(&[&attempt.to_le_bytes(), value]),
            blocks: 0,
            rest: Vec::new(),
        }
    }
}

/// Pseudo-random bytes without an end.
pub struct Stream<'a> {
    key: &'a Key,
    seed: [u8; LENGTH],
    blocks: u64,
    rest: Vec<u8>,
}

impl Stream<'_> {
    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        loop {
            if let Some(byte) = self.rest.pop() {
                return byte;
            }
            let block = self.key.hmac(&[&self.seed, &self.blocks.to_le_bytes()]);
            self.blocks += 1;
            self.rest.extend(block);
        }
    }

    /// The next bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.byte()).collect()
    }

    /// A number below `end`, which is at most 65536.
    pub fn below(&mut self, end: u32) -> u32 {
        let wide = u32::from_le_bytes([self.byte(), self.byte(), self.byte(), 0]);
        wide % end.max(1)
    }

    /// One of these characters.
    pub fn one(&mut self, of: &[u8]) -> char {
        let end = u32::try_from(of.len()).unwrap_or(u32::MAX);
        char::from(of[self.below(end) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hmac_is_that_of_rfc_4231() {
        let mut key = [0; LENGTH];
        key[..4].copy_from_slice(b"Jefe");
        let hmac = Key(key).hmac(&[b"what do ya want ", b"for nothing?"]);
        assert_eq!(hmac[..4], [0x5b, 0xdc, 0xc1, 0x46]);
        assert_eq!(hmac[28..], [0x64, 0xec, 0x38, 0x43]);
    }

    #[test]
    fn a_stream_depends_on_the_key_the_value_and_the_attempt() {
        let [a, b] = [Key([1; LENGTH]), Key([2; LENGTH])];
        let first = a.stream(b"v", 0).bytes(100);
        assert_eq!(first, a.stream(b"v", 0).bytes(100));
        assert_ne!(first[..32], first[32..64]);
        for other in [a.stream(b"w", 0), a.stream(b"v", 1), b.stream(b"v", 0)] {
            let mut other = other;
            assert_ne!(first, other.bytes(100));
        }
        assert_ne!(Key::random().unwrap().0, Key::random().unwrap().0);
    }
}
