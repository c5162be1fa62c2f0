//! Prints all definitions as one JSON array; panics of derive macros go to standard error.

fn main() {
    let crds: Vec<_> = lint_fixtures::all()
        .into_iter()
        .filter_map(|(_, crd)| std::panic::catch_unwind(crd).ok())
        .collect();
    println!("{}", serde_json::to_string(&crds).unwrap_or_default());
}
