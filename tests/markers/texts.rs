#!/usr/bin/env -S cargo +nightly -Zscript // +kbr:rbac:groups=shebang,resources=no,verbs=get
//! Markers in every kind of text. Those with a group `yes…` are real, in the order of their numbers; all others are text.
//! A sentence may quote one: `// +kbr:rbac:groups=quoted,resources=no,verbs=get`, `+kbr:scaffold:controllers`.
#![allow(dead_code, unused_macros)]
#![doc = "// +kbr:rbac:groups=attribute,resources=no,verbs=get"]

/* // +kbr:rbac:groups=block,resources=no,verbs=get
   // +kbr:scaffold:controllers
   /* nested: // +kbr:webhook:path=/no
      /** deeper
          // +kbr:rbac:groups=nested,resources=no,verbs=get
      */
   // +kbr:rbac:groups=still-block,resources=no,verbs=get */
   let quote = "; */

// +kbr:rbac:groups=yes1,resources=jobs,verbs=get
const PLAIN: &str = "// +kbr:rbac:groups=string,resources=no,verbs=get";
const ESCAPED: &str = "\" // +kbr:rbac:groups=escaped,resources=no,verbs=get \\"; // +kbr:rbac:groups=yes2,resources=jobs,verbs=get
const LINES: &str = "
// +kbr:rbac:groups=lines,resources=no,verbs=get
// +kbr:scaffold:controllers
    // +kbr:scaffold:controllers
/* no comment begins here
";
const RAW: &str = r#"
// +kbr:rbac:groups=raw,resources=no,verbs=get
// +kbr:webhook:path=/no
"// +kbr:scaffold:controllers
// +kbr:scaffold:controllers
"#;
const RAWER: &[u8] = br##"
"# // +kbr:rbac:groups=rawer,resources=no,verbs=get
// +kbr:webhookconfiguration:mutating=true,name=no
"##;
const BYTES: &[u8] = b"// +kbr:rbac:groups=bytes,resources=no,verbs=get \
    // +kbr:rbac:groups=continued,resources=no,verbs=get
";
const C: &std::ffi::CStr = c"// +kbr:rbac:groups=c,resources=no,verbs=get";
const CHARS: [char; 5] = ['"', '\'', '\\', '/', '\u{22}']; // +kbr:rbac:groups=yes3,resources=jobs,verbs=get
const BYTE_CHARS: [u8; 3] = [b'"', b'\'', b'/']; // +kbr:rbac:groups=yes4,resources=jobs,verbs=get

/// YAML in a string, with comments of its own.
const YAML: &str = "
# +kbr:rbac:groups=yaml,resources=no,verbs=get
# +kbr:scaffold:controllers
rules: [] # // +kbr:rbac:groups=yaml-end,resources=no,verbs=get
";

// A shell's here-document in a comment is a comment:
//     cat <<'END'
//     # +kbr:rbac:groups=here,resources=no,verbs=get
//     # +kbr:scaffold:controllers
//     // +kbr:rbac:groups=doubly,resources=no,verbs=get
//     END
// and a sentence may speak of +kbr:rbac:groups=sentence,resources=no,verbs=get.

struct Lifetimes<'a, 'r> {
    a: &'a str, // +kbr:rbac:groups=yes5,resources=jobs,verbs=get
    r#type: &'r str, // +kbr:rbac:groups=yes6,resources=jobs,verbs=get
}

macro_rules! inside {
    ($text:literal) => {
        // +kbr:rbac:groups=yes7,resources=jobs,verbs=get
        concat!("// +kbr:rbac:groups=macro,resources=no,verbs=get", $text)
    };
}

#[deprecated(note = "// +kbr:rbac:groups=note,resources=no,verbs=get")]
fn r#match<'r>(br: &'r str, cr: i32) -> bool {
    let slash = 4 / 2; // +kbr:rbac:groups=yes8,resources=jobs,verbs=get
    let _ = inside!(r"\"); /* " */ // +kbr:rbac:groups=yes9,resources=jobs,verbs=get
    let _ = "é\u{1F980}'"; // +kbr:webhook:url=https://example.com/real,mutating=false,failurePolicy=fail,sideEffects=None,groups=yes,resources=jobs,verbs=create,versions=v1,name=real.example.com,admissionReviewVersions=v1
    'r: loop {
        break 'r;
    }
    br.len() == 1 && cr == slash
    // +kbr:scaffold:controllers
    //// +kbr:scaffold:controllers
}
//+kubebuilder:rbac:groups=yes91,resources=jobs,verbs=get
