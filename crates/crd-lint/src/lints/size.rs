//! Definitions that are too large for a plain `kubectl apply`.

use crate::definition::Definition;
use crate::lint::Hit;

/// What the annotations of an object may take together; client-side apply puts the whole object into one.
const ANNOTATIONS: usize = 256 * 1024;

/// Whether only server-side apply can install the definition.
pub fn check(definition: &Definition, found: &mut Vec<Hit>) {
    let size = definition.0.to_string().len();
    if size > ANNOTATIONS {
        let text = format!(
            "at {} kB, only server-side apply can install it",
            size / 1000
        );
        let help = "use `kubectl apply --server-side`, or shorten the descriptions";
        found.push(Hit::new("", text, help));
    }
}
