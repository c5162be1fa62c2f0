//! kbr: kubebuilder for people who write Kubernetes operators in Rust.

mod changes;
mod cli;
mod comments;
mod commit;
mod edit;
mod envtest;
mod lock;
mod manifests;
mod plan;
mod problems;
mod project;
mod resource;
mod sample;
mod scaffold;
mod vars;

fn main() -> std::process::ExitCode {
    #[cfg(feature = "faults")]
    if let Some(code) = commit::faults::drive() {
        return code;
    }
    cli::main()
}
