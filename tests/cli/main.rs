//! The command line itself: arguments of any bytes, and output that no one reads.

#![allow(missing_docs, reason = "tests")]

mod arguments;
mod output;
mod platforms;
