//! Definitions that are too large for a plain `kubectl apply`.

use super::Finding;
use crate::manifests::crd::Crd;

/// What the annotations of an object may take together; client-side apply puts the whole object into one.
const ANNOTATIONS: usize = 256 * 1024;

/// A warning if only server-side apply can install the definition.
pub fn check(crd: &Crd) -> Option<Finding> {
    let size = crd.object.to_string().len();
    let text = format!(
        "at {} kB, only server-side apply can install it",
        size / 1000
    );
    let help = "`make install` and `make deploy` do so; `kbr manifests --max-description-length 0` makes it smaller";
    (size > ANNOTATIONS).then(|| Finding::warning("size", "", text, help))
}
