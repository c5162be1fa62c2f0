//! Parses JSON into the types of the operator's author, and writes them, within a budget of memory.
//!
//! What a type takes is known only to the type: an item `{}` of a list has the size of its struct. So each item of a list
//! or a map counts with its size before it is parsed, and so does each text. What an author's own `Deserialize` allocates
//! besides is not counted.

mod cost;
mod deserializer;

use std::io;

use serde::{Deserialize, Serialize, de::Error as _};

use self::{cost::charge, deserializer::Charged};
use crate::servers::budget::Budget;

/// Parses JSON within a budget.
///
/// # Errors
/// If the JSON is invalid, or the budget is exceeded.
pub(super) fn from_str<'a, T: Deserialize<'a>>(
    text: &'a str,
    budget: &Budget,
) -> serde_json::Result<T> {
    let mut json = serde_json::Deserializer::from_str(text);
    charge(budget, size_of::<T>())?;
    let value = T::deserialize(Charged {
        inner: &mut json,
        budget,
        size: size_of::<T>(),
    })?;
    json.end()?;
    // A type may go on after an error.
    charge(budget, 0)?;
    Ok(value)
}

/// Writes JSON within a budget. The text has about `length` bytes.
///
/// # Errors
/// If the type cannot be written, or the budget is exceeded.
pub(super) fn to_string(
    value: &impl Serialize,
    length: usize,
    budget: &Budget,
) -> serde_json::Result<String> {
    let mut text = Text {
        bytes: Vec::new(),
        budget,
    };
    text.grow(length).map_err(serde_json::Error::io)?;
    serde_json::to_writer(&mut text, value)?;
    String::from_utf8(text.bytes).map_err(serde_json::Error::custom)
}

/// The text that is written.
struct Text<'b> {
    bytes: Vec<u8>,
    budget: &'b Budget,
}

impl Text<'_> {
    /// Makes room for this many more bytes.
    fn grow(&mut self, bytes: usize) -> io::Result<()> {
        if !self.budget.charge(bytes) {
            return Err(io::Error::other(Budget::problem()));
        }
        self.bytes.reserve_exact(bytes);
        Ok(())
    }
}

impl io::Write for Text<'_> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        if part.len() > self.bytes.capacity() - self.bytes.len() {
            self.grow(part.len().max(self.bytes.capacity()))?;
        }
        self.bytes.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
