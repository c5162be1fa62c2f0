//! Writes the Rust of the recipes, a module for each block, so that it is compiled, linted and tested as a project's code.

use std::{env, fmt::Write as _, fs, io, path::Path};

fn main() -> io::Result<()> {
    let recipes = "../../docs/recipes";
    println!("cargo::rerun-if-changed={recipes}");
    let pages = fs::read_dir(recipes)?.map(|page| page.map(|page| page.path()));
    let mut pages: Vec<_> = pages.collect::<io::Result<_>>()?;
    pages.sort();
    let mut modules = String::new();
    for page in pages {
        let name = page.file_stem().unwrap_or_default().to_string_lossy();
        for (number, block) in fs::read_to_string(&page)?
            .split("\n```rust\n")
            .skip(1)
            .enumerate()
        {
            let code = block.split("\n```").next().unwrap_or_default();
            // Writing to a string cannot fail.
            let _ = writeln!(modules, "mod {name}_{number} {{\n{code}\n}}");
        }
    }
    let folder = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&folder).join("recipes.rs"), modules)
}
