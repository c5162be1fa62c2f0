//! A table that a command requests.

/// A table to create, and whether PROJECT already has it.
#[derive(Debug)]
pub struct Planned<T> {
    pub value: T,
    pub recorded: bool,
}
