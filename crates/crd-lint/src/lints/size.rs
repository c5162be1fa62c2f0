//! Definitions that are too large for client-side `kubectl apply`.

use crate::definition::Definition;
use crate::lint::Hit;

/// The maximum total size of an object's annotations; client-side apply stores the whole object in one.
const ANNOTATIONS: usize = 256 * 1024;

/// Reports definitions that only server-side apply can install.
pub fn check(definition: &Definition, found: &mut Vec<Hit>) {
    let size = definition.0.to_string().len();
    if size > ANNOTATIONS {
        let text = format!(
            "a definition of {} kB can only be installed with server-side apply",
            size / 1000
        );
        let help = "use `kubectl apply --server-side`, or shorten the descriptions";
        found.push(Hit::new("", text, help));
    }
}
