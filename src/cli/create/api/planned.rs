//! A table that a command asks for.

/// Something to create, and whether PROJECT has it already.
#[derive(Debug)]
pub struct Planned<T> {
    pub value: T,
    pub recorded: bool,
}
