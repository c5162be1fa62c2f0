//! The `Cargo.lock` of a new project, written without asking cargo.
