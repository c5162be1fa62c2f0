//! Parses JSON into the types of the operator's author within a limit of memory, and finds what a type does not know.
//!
//! What a type takes is known only to the type: an item `{}` of a list has the size of its struct. So each item of a list
//! or a map counts with its size before it is parsed, and so does each text. What an author's own `Deserialize` allocates
//! besides is not counted.

mod watched;

use std::{fmt, io};

use serde::{Deserialize, Serialize, de::Error as _};

pub(crate) use self::watched::Unknown;
use self::watched::{Watch, Watched};
use crate::json_path::explain;

/// The most bytes of a text that a value is written to: the API server accepts objects of 3 MiB.
pub(crate) const WRITTEN: usize = 8 << 20;

/// Why a text was not parsed, or a value not written.
#[derive(Debug)]
pub(crate) enum Error {
    /// It takes more memory than it may; and where, if that is known.
    TooLarge(String),
    Invalid(serde_json::Error),
}

impl Error {
    pub(crate) fn is_too_large(&self) -> bool {
        matches!(self, Self::TooLarge(_))
    }

    /// The error, with the path of the field in this text that cannot be read.
    pub(crate) fn explained(&self, text: &str) -> String {
        match self {
            Self::TooLarge(problem) => problem.clone(),
            Self::Invalid(error) => explain(text, error),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(problem) => f.write_str(problem),
            Self::Invalid(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

/// Parses JSON into a value of at most so many bytes.
pub(crate) fn from_str<'a, T: Deserialize<'a>>(text: &'a str, most: usize) -> Result<T, Error> {
    parse(text, &Watch::new(most))
}

/// Like [`from_str`], and returns the fields that the type does not know. They count as well.
pub(crate) fn with_unknown<'a, T: Deserialize<'a>>(
    text: &'a str,
    most: usize,
) -> Result<(T, Unknown<'a>), Error> {
    let watch = Watch::finding(most);
    let value = parse(text, &watch)?;
    Ok((value, watch.found()))
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str, watch: &Watch<'a>) -> Result<T, Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    let parsed = watch.charge(size_of::<T>());
    let parsed = parsed.and_then(|()| T::deserialize(Watched::of::<T>(&mut json, watch)));
    let parsed = parsed.and_then(|value| json.end().map(|()| value));
    // A type may go on after an error.
    match parsed {
        Err(error) if watch.is_exceeded() => Err(Error::TooLarge(explain(text, &error))),
        Ok(_) if watch.is_exceeded() => Err(Error::TooLarge(watch.problem())),
        parsed => parsed.map_err(Error::Invalid),
    }
}

/// Writes a value as JSON of about so many bytes, and at most [`WRITTEN`].
pub(crate) fn to_string(value: &impl Serialize, length: usize) -> Result<String, Error> {
    let mut text = Text(Vec::with_capacity(length.min(WRITTEN)));
    match serde_json::to_writer(&mut text, value) {
        Ok(()) => String::from_utf8(text.0)
            .map_err(|error| Error::Invalid(serde_json::Error::custom(error))),
        Err(error) if error.is_io() => Err(too_long()),
        Err(error) => Err(Error::Invalid(error)),
    }
}

/// The error of a text of more than [`WRITTEN`] bytes.
pub(crate) fn too_long() -> Error {
    let most = WRITTEN >> 20;
    Error::TooLarge(format!("it takes more than {most} MiB of memory as text"))
}

/// A text that ends at the limit.
struct Text(Vec<u8>);

impl io::Write for Text {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        if self.0.len() + part.len() > WRITTEN {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
