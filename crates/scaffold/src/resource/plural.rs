//! English plurals of lower-case kinds; for common words the same as controller-gen's inflection library.

/// Endings and their replacements; the first match applies. A word that ends in a single `s` is treated as a plural
/// (`settings`, `endpoints`, `redis`), except those in `us` and `ias`.
const ENDINGS: &[(&str, &str)] = &[
    ("data", "data"),
    ("media", "media"),
    ("equipment", "equipment"),
    ("information", "information"),
    ("sheep", "sheep"),
    ("fish", "fish"),
    ("person", "people"),
    ("child", "children"),
    ("mouse", "mice"),
    ("human", "humans"),
    ("woman", "women"),
    ("foot", "feet"),
    ("quiz", "quizzes"),
    ("matrix", "matrices"),
    ("vertex", "vertices"),
    ("vortex", "vortices"),
    ("index", "indices"),
    ("hero", "heroes"),
    ("echo", "echoes"),
    ("cargo", "cargoes"),
    ("tomato", "tomatoes"),
    ("potato", "potatoes"),
    ("leaf", "leaves"),
    ("loaf", "loaves"),
    ("thief", "thieves"),
    ("lf", "lves"),
    ("knife", "knives"),
    ("life", "lives"),
    ("wife", "wives"),
    ("sis", "ses"),
    ("axis", "axes"),
    ("us", "uses"),
    ("ias", "iases"),
    ("ss", "sses"),
    ("s", "s"),
    ("x", "xes"),
    ("z", "zes"),
    ("ch", "ches"),
    ("sh", "shes"),
    ("ay", "ays"),
    ("ey", "eys"),
    ("oy", "oys"),
    ("quy", "quies"),
    ("uy", "uys"),
    ("y", "ies"),
];

/// The plural of a word: `policies` for `policy`.
pub fn plural(word: &str) -> String {
    for (ending, replacement) in ENDINGS {
        if let Some(stem) = word.strip_suffix(ending) {
            return format!("{stem}{replacement}");
        }
    }
    format!("{word}s")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plurals of `flect` 1.0.3, except for `repo`, `memo` and `video` (it has `repoes`), `canvas` and `topaz`.
    #[test]
    fn plurals_equal_those_of_controller_gen() {
        for (word, expected) in [
            ("ippool", "ippools"),
            ("foo", "foos"),
            ("at", "ats"),
            ("guestbook", "guestbooks"),
            ("home", "homes"),
            ("policy", "policies"),
            ("ingress", "ingresses"),
            ("status", "statuses"),
            ("box", "boxes"),
            ("bus", "buses"),
            ("quiz", "quizzes"),
            ("person", "people"),
            ("gateway", "gateways"),
            ("proxy", "proxies"),
            ("cache", "caches"),
            ("repo", "repos"),
            ("class", "classes"),
            ("gatewayclass", "gatewayclasses"),
            ("analysis", "analyses"),
            ("basis", "bases"),
            ("alias", "aliases"),
            ("key", "keys"),
            ("database2", "database2s"),
            ("redis", "redis"),
            ("endpoints", "endpoints"),
            ("settings", "settings"),
            ("metadata", "metadata"),
            ("branch", "branches"),
            ("switch", "switches"),
            ("hash", "hashes"),
            ("release", "releases"),
            ("vertex", "vertices"),
            ("wolf", "wolves"),
            ("proof", "proofs"),
            ("build", "builds"),
            ("child", "children"),
            ("schedule", "schedules"),
            ("httproute", "httproutes"),
            ("a", "as"),
        ] {
            assert_eq!(plural(word), expected);
        }
    }
}
