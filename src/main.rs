//! kbr: kubebuilder for Kubernetes operators in Rust.

mod blueprint;
mod cargo;
mod changes;
mod cli;
mod cluster;
mod comments;
mod commit;
mod derived;
mod dev;
mod diagnostic;
mod edit;
mod envtest;
#[cfg(test)]
#[path = "../tests/fuzz/driver.rs"]
mod fuzz;
mod generated;
mod git;
mod hash;
mod install;
mod library;
mod lock;
mod manifests;
mod output;
mod project;
mod regular;
mod release;
mod resource;
mod sample;
mod scaffold;
mod signals;
mod trust;
mod upgrade;
mod uses;
mod vars;
mod watch;
mod workdir;

fn main() -> std::process::ExitCode {
    #[cfg(feature = "faults")]
    if let Some(code) = commit::faults::drive() {
        return code;
    }
    cli::main()
}
