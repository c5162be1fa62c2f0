//! kbr: kubebuilder for Kubernetes operators in Rust.

mod cli;
mod dev;
mod embedded;
#[cfg(feature = "faults")]
mod faults;
#[cfg(test)]
#[path = "../tests/fuzz/driver.rs"]
mod fuzz;
#[cfg(test)]
#[path = "../tests/fuzz/planted.rs"]
mod planted;
mod sources;
mod watch;

fn main() -> std::process::ExitCode {
    #[cfg(feature = "faults")]
    if let Some(code) = faults::drive() {
        return code;
    }
    cli::main()
}
