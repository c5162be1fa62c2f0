//! The limits of a clone's file, which may come from a stranger. They hold while it is read, so a small file that unpacks to a huge one ends
//! early.

use std::io::{self, Read, Write};

/// What a file may have at most.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The bytes of the file.
    pub packed: u64,
    /// The bytes of JSON.
    pub unpacked: u64,
    /// The values in the JSON, of which each takes about 100 bytes of memory.
    pub values: u64,
}

impl Limits {
    /// - 512 MiB of JSON: etcd has 2 GiB for all revisions and indices of a cluster, and a clone has the last revision of some kinds.
    /// - 128 MiB as a file: JSON of a cluster is packed to less than a tenth.
    /// - 32 million values, with 3 GiB of memory. An ordinary value is longer than 16 bytes, so it is a limit only for lists such as `[0,0]`.
    pub const FILE: Limits = Limits {
        packed: 128 << 20,
        unpacked: 512 << 20,
        values: 32 << 20,
    };
}

/// Reads or writes up to a limit of bytes; after them it fails. With `values`, what passes is JSON, whose values are counted.
pub struct Limited<T> {
    inner: T,
    limit: u64,
    bytes: u64,
    values: Option<Values>,
}

impl<T> Limited<T> {
    /// The bytes of a file.
    pub fn bytes(inner: T, limit: u64) -> Self {
        Limited {
            inner,
            limit,
            bytes: 0,
            values: None,
        }
    }

    /// JSON.
    pub fn json(inner: T, limits: Limits) -> Self {
        Limited {
            values: Some(Values::up_to(limits.values)),
            ..Limited::bytes(inner, limits.unpacked)
        }
    }

    /// What is read or written.
    pub fn into_inner(self) -> T {
        self.inner
    }

    fn count(&mut self, passed: &[u8]) -> io::Result<()> {
        self.bytes += passed.len() as u64;
        if self.bytes > self.limit {
            let text = format!("larger than {} bytes", self.limit);
            return Err(io::Error::other(text));
        }
        self.values.as_mut().map_or(Ok(()), |it| it.count(passed))
    }
}

impl<T: Read> Read for Limited<T> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(to)?;
        self.count(&to[..read])?;
        Ok(read)
    }
}

impl<T: Write> Write for Limited<T> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(from)?;
        self.count(&from[..written])?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Counts the values of JSON: each but the first one follows a bracket or a comma.
struct Values {
    left: u64,
    is_string: bool,
    is_escaped: bool,
}

impl Values {
    fn up_to(most: u64) -> Values {
        Values {
            left: most,
            is_string: false,
            is_escaped: false,
        }
    }

    fn count(&mut self, passed: &[u8]) -> io::Result<()> {
        for byte in passed {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_string => self.is_escaped = true,
                b'"' => self.is_string = !self.is_string,
                b',' | b'{' | b'[' if !self.is_string => {
                    self.left = self.left.checked_sub(1).ok_or_else(too_many)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn too_many() -> io::Error {
    io::Error::other("more values in JSON than kbr reads")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(json: &str, bytes: usize, values: u64) -> Result<(), String> {
        let limits = Limits {
            unpacked: bytes as u64,
            values,
            ..Limits::FILE
        };
        let mut read = Vec::new();
        let read = Limited::json(json.as_bytes(), limits).read_to_end(&mut read);
        let write = Limited::json(Vec::new(), limits).write_all(json.as_bytes());
        let read = read.map(|_| ()).map_err(|it| it.to_string());
        assert_eq!(read, write.map_err(|it| it.to_string()));
        read
    }

    #[test]
    fn bytes_and_values_are_limited_and_strings_are_one_value() {
        let json = r#"{"a":["\"[{,,",1,{}]}"#;
        assert_eq!(passes(json, json.len(), 5), Ok(()));
        let too_long = passes(json, json.len() - 1, 5);
        assert_eq!(too_long, Err("larger than 20 bytes".to_owned()));
        let too_many = passes(json, 100, 4);
        assert_eq!(
            too_many,
            Err("more values in JSON than kbr reads".to_owned())
        );
    }
}
