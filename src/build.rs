//! Makes cargo see new and removed files under `scaffolds/`, which `include_dir!` alone does not.

fn main() {
    println!("cargo:rerun-if-changed=scaffolds");
}
