//! Makes cargo see new and removed files under `scaffolds/`, which `include_dir!` alone does not, and stops on systems that kbr does not
//! run on: here the one sentence is all that cargo prints, whereas `compile_error!` would come with every error that follows from it.

fn main() {
    println!("cargo::rerun-if-changed=scaffolds");
    if std::env::var_os("CARGO_CFG_UNIX").is_none() {
        println!("cargo::error=kbr runs on Linux and macOS; on Windows, build and run it in WSL");
    }
}
