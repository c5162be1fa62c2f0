//! The command line itself: arguments of any bytes, and closed output.

#![allow(missing_docs, reason = "tests")]

mod arguments;
mod mistakes;
mod output;
mod platforms;
mod umask;
