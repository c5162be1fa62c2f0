//! Reads Rust sources.

pub mod comments;
pub mod derived;
pub mod exports;
pub mod parse;
pub mod uses;
