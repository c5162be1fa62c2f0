//! Field paths of printer columns, selectable fields and `scale`.

use apiserver_rules::{is_embedded, nearest};
use serde_json::{Value, json};

use crate::jsonpath::{Part, parse};
use crate::lint::Hit;
use crate::lints::keywords::{INT_OR_STRING, PRESERVE};

const FILTER: &str =
    "select an item by one comparison: `.status.conditions[?(@.type=='Ready')].status`";

/// The problem of `path`, if it is not the path of a field. `what` is the subject of the message.
pub fn unknown(schema: &Value, path: &str, what: &str) -> Option<Hit> {
    let (why, help) = wrong(schema, path)?;
    let help = if several(schema, path) {
        "a column has one path; add a field to the status".to_owned()
    } else if let Some(right) = repaired(schema, path) {
        format!("write `{right}`")
    } else if let Some(help) = help {
        help
    } else if path.starts_with('.') {
        FILTER.to_owned()
    } else {
        format!("write `.{path}`")
    };
    Some(Hit::new("", format!("{what}{why}"), help))
}

/// Why `path` shows no value, and what to write instead if that is known.
fn wrong(schema: &Value, path: &str) -> Option<(String, Option<String>)> {
    if !path.starts_with('.') {
        return Some((" does not begin with `.`".to_owned(), None));
    }
    let texts = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    // A CRD need not describe metadata.
    let metadata = json!({ "type": "object", PRESERVE: true,
        "properties": { "labels": texts, "annotations": texts } });
    let found = parse(path).map_err(|why| (why, None));
    let found = found.and_then(|parts| match &parts[..] {
        [Part::Field(name), rest @ ..] if name == "metadata" => follow(&metadata, rest).map(drop),
        [Part::Field(name)] if ["apiVersion", "kind"].contains(&&**name) => Ok(()),
        parts => follow(schema, parts).map(drop),
    });
    let (why, help) = found.err()?;
    Some((format!(": {why}"), help))
}

/// The schema of what the parts lead to; `None` for what has none.
type Found<'s> = Result<Option<&'s Value>, (String, Option<String>)>;

fn follow<'s>(schema: &'s Value, parts: &[Part]) -> Found<'s> {
    let mut schema = schema;
    for part in parts {
        let is_open = schema["type"].is_null() || schema[INT_OR_STRING] == true;
        let is_list = || match schema["type"].as_str() {
            Some("array") => Ok(()),
            _ if is_open || schema[PRESERVE] == true => Ok(()),
            kind => {
                let kind = kind.unwrap_or_default();
                Err((format!("`[…]` on a value of type `{kind}`"), None))
            }
        };
        schema = match part {
            Part::Field(name) => match field(schema, name)? {
                Some(field) => field,
                None => return Ok(None),
            },
            Part::Items => {
                is_list()?;
                &schema["items"]
            }
            Part::Filter(sides) => {
                is_list()?;
                for side in sides {
                    follow(&schema["items"], side)?;
                }
                &schema["items"]
            }
            Part::Union(all) => {
                return all.iter().try_fold(None, |_, parts| follow(schema, parts));
            }
            Part::Each if schema["items"].is_object() => &schema["items"],
            Part::Each if schema["additionalProperties"].is_object() => {
                &schema["additionalProperties"]
            }
            Part::Each | Part::Below | Part::Literal => return Ok(None),
            Part::Fails(why) => return Err((why.clone(), None)),
        };
    }
    Ok(Some(schema))
}

fn field<'s>(schema: &'s Value, name: &str) -> Found<'s> {
    let others = &schema["additionalProperties"];
    if let Some(field) = schema["properties"].get(name) {
        return Ok(Some(field));
    }
    if others.is_object() && !name.is_empty() {
        return Ok(Some(others));
    }
    let is_open = schema["type"].is_null() || schema[INT_OR_STRING] == true;
    if !name.is_empty()
        && (is_open || schema[PRESERVE] == true || others == true || is_embedded(schema))
    {
        return Ok(None);
    }
    let help = match schema["type"].as_str() {
        Some("array") => FILTER.to_owned(),
        Some("object") => {
            let names = schema["properties"].as_object().into_iter().flatten();
            match nearest(name, names.map(|(name, _)| name.as_str())) {
                Some(near) => format!("did you mean `{near}`"),
                None => "use the name of the field in YAML".to_owned(),
            }
        }
        _ => "a dot in a name is written `\\.`".to_owned(),
    };
    Err((format!("unknown field `{name}`"), Some(help)))
}

/// Whether `path` consists of several paths.
fn several(schema: &Value, path: &str) -> bool {
    let parts = path.split(['{', '}', ' ', ',', '/', '|', '+', ';', ':']);
    let parts = parts.filter(|part| part.starts_with(['.', '$', '@']));
    let mut parts = parts.filter(|part| wrong(schema, &plain(part)).is_none());
    parts.nth(1).is_some()
}

/// `path` without what is wrong with it; `None` if that is not known.
fn repaired(schema: &Value, path: &str) -> Option<String> {
    let repairs = [plain, compared, indexed];
    let repaired = repairs.iter().scan(path.to_owned(), |path, repair| {
        *path = repair(path);
        Some(path.clone())
    });
    let mut repaired = repaired.filter(|path| wrong(schema, path).is_none());
    repaired.next()
}

/// Without the braces and the root of kubectl's templates, and without empty names.
fn plain(path: &str) -> String {
    let path = path.replace(['{', '}'], "");
    let path = path.replace(".$", ".").replace(".[", "[");
    let names = path.trim_start_matches(['$', '@']).split('.');
    let names: Vec<&str> = names.map(str::trim).filter(|it| !it.is_empty()).collect();
    format!(".{}", names.join("."))
}

/// With one comparison, in its form, if there is one.
fn compared(path: &str) -> String {
    let parts = || {
        let (before, rest) = path.split_once('[')?;
        let (inside, after) = rest.rsplit_once(']')?;
        let (first, _) = inside.split_once(['&', '|']).unwrap_or((inside, ""));
        let (name, value) = first.split_once('=')?;
        let name = name.trim_matches(['?', '(', '@', '.', ' ']);
        let bare = value.trim_matches(['=', ')', ' ']);
        let text = bare.trim_matches(['\'', '"', '`', '‘', '’', '“', '”']);
        let is_bare = bare.parse::<f64>().is_ok() || ["true", "false"].contains(&bare);
        let value = if is_bare {
            bare.to_owned()
        } else {
            format!("'{text}'")
        };
        Some(format!("{before}[?(@.{name}=={value})]{after}"))
    };
    parts().unwrap_or_else(|| path.to_owned())
}

/// With `'` around a name in an index, and without an index that does not end.
fn indexed(path: &str) -> String {
    let path = path.replace('"', "'");
    match path.rsplit_once('[') {
        Some((before, index)) if !index.contains(']') => before.to_owned(),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        json!({ "type": "object", "properties": {
            "spec": { "type": "object", "properties": {
                "image": { "type": "string" }, "replicas": { "type": "integer" },
                "ports": { "type": "array", "items": { "type": "integer" } },
                "labels": { "type": "object", "additionalProperties": { "type": "string" } },
                "any": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            } },
            "status": { "type": "object", "properties": {
                "message": { "type": "string" },
                "conditions": { "type": "array", "items": { "type": "object", "properties": {
                    "type": { "type": "string" }, "status": { "type": "string" }, "n": { "type": "integer" },
                } } },
            } },
        } })
    }

    fn good(path: &str) {
        assert_eq!(unknown(&schema(), path, "column"), None, "{path}");
    }

    fn bad(path: &str, reason: &str) {
        let hit = unknown(&schema(), path, "column").unwrap();
        let text = format!("{}; {}", hit.message, hit.help);
        assert!(text.contains(reason), "{path}: {text}");
    }

    /// What `kubectl get` shows for each path, by client-go 0.37: a value (`shown`), nothing in the column (`empty`), or no column
    /// (`none`); of several paths only the `first`.
    const VERDICTS: &str = r#"
shown .spec.image
shown .metadata.creationTimestamp
shown .metadata.name
shown .metadata.labels.app\.kubernetes\.io/name
shown .metadata.labels['app\.kubernetes\.io/name']
empty .metadata.labels['app.kubernetes.io/name']
shown .spec.labels.app\.kubernetes\.io/name
shown .spec['image']
none  .spec["image"]
none  .spec[image]
none  .spec[ 'image' ]
shown .spec['image','replicas']
shown .spec.labels.*
shown .spec.*
shown .spec.any.thing
shown ..image
shown .spec..image
shown ...image
empty .
shown ..
empty .spec.
empty .spec.image.
none  .spec.image\
shown .spec.ports[0]
shown .spec.ports[-1]
shown .spec.ports[9]
shown .spec.ports[*]
shown .spec.ports[]
shown .spec.ports[:]
shown .spec.ports[0:1]
empty .spec.ports[::0]
empty .spec.ports[1:0]
shown .spec.ports[0,1]
none  .spec.ports[a]
none  .spec.ports[-]
none  .spec.ports[0
empty .spec.ports.0
shown .spec.ports 0
empty .spec.image[0]
none  .spec.message[
none  .spec.image]
none  .spec.{image}
none  .{.spec.image}
first .spec.image}
first .spec.image}/{.spec.replicas
none  .spec.image,.spec.replicas
empty .spec.image .spec.replicas
empty .spec.image/.spec.replicas
none  .spec.image + .spec.replicas
empty . spec.image
shown .spec .image
empty .spec.(image)
empty .spec.image|length
empty .spec.image()
empty .spec.image?
empty .$.spec.image
empty .@.spec.image
empty .spec.$image
shown .spec.image 'x'
shown .spec.image "x"
none  .spec.image 'x
shown .spec.image 3
shown .spec.image -3.5
none  .spec.image 1.2.3
shown .spec.image true
empty .spec.image end
none  .spec[image
shown .status.conditions[?(@.type=='Ready')].status
shown .status.conditions[?(@.type=="Ready")].status
shown .status.conditions[?(@.type == "Ready")].status
none  .status.conditions[?(@.type=='Ready' && @.status=='True')].status
none  .status.conditions[?(@.type=='Ready' || @.status=='True')].status
empty .status.conditions[?(@.type='Ready')].status
none  .status.conditions[?(@.type===‘Ready’)].status
empty .status.conditions[?(@.type==Ready)].status
empty .status.conditions[?(type=='Ready')].status
shown .status.conditions[?(.type=='Ready')].status
shown .status.conditions[?(@['type']=='Ready')].status
shown .status.conditions[?(@.type!='Ready')].status
shown .status.conditions[?(@.n>1)].status
empty .status.conditions[?(@.n=>1)].status
shown .status.conditions[?(@.type)].status
none  .status.conditions[?(@.type=='Ready'].status
none  .status.conditions[?@.type=='Ready'].status
none  .status.conditions[?type=='Ready'].status
none  .status.conditions[@.type=='Ready'].status
none  .status.conditions[(@.type=='Ready')].status
none  .status.conditions[?(@.type=='Ready)].status
shown .status.conditions[?(@.type=='Re)ady')].status
shown .status.conditions[?(@.type=='It\'s')].status
none  .status.conditions[?(@.type=='a\qb')].status
none  .status.conditions[?(@.type=='a\\')].status
shown .status.conditions[?(@.type=="a\"b")].status
shown .status.conditions[?(@.type=="\x41")].status
shown .status.conditions[?(@.type=="\u0041")].status
none  .status.conditions[?(!@.type)].status
none  .status.conditions[?(=='Ready')].status
none  .status.conditions[?(@.type==)].status
empty .status.conditions[?(@.type=)].status
shown .status.conditions[?()].status
none  .status.conditions[?(@.type=~'R.*')].status
shown .status.conditions[?(@.type=='Ready')]
empty .status.conditions[?(@.type=='Ready')][0].status
empty .status.conditions[?(@.type=='Ready')]status
empty .status.conditions.[?(@.type=='Ready')].status
none  .status.conditions[?(@.type=='Ready')].{status}
none  .status.conditions[type=Ready].status
none  .status.conditions["Ready"].status
empty .status.conditions['Ready'].status
shown .status.conditions[0].status
shown .status.conditions[*].type
shown .status.conditions[1:].type
empty .status.conditions.type
shown .status.conditions.*.type
none  .status.conditions[last()].type
shown .status.conditions[-1:].type
shown .status.conditions[0]['type']
empty .status.conditions[?(@.type==$.spec.image)].status
empty .status.conditions[?(@.type=='Ready')].status=='True'
empty .spec.imgae
empty .spec.image.x
empty .spec.labels.a.b
empty .spec.ä
empty .ß
none  .spec.image{
first .spec.image}{
first .spec.image}{}
first .spec.image}x{range
none  {.spec.image}
none  $.spec.image
none  @.spec.image
none  spec.image
none  {.status.message}/{.spec.image}
none  {range .spec.ports}{.}{end}
"#;

    #[test]
    fn a_path_is_right_if_kubectl_shows_a_value_for_it() {
        let rows = VERDICTS.lines().filter(|row| !row.is_empty());
        let wrong = rows.filter(|row| {
            let (verdict, path) = row.split_at(6);
            unknown(&schema(), path, "column").is_none() != (verdict == "shown ")
        });
        assert_eq!(wrong.collect::<Vec<_>>(), [""; 0]);
        for path in [
            ".spec.image\n",
            ".spec.ports[\n0]",
            ".spec.image\t",
            ".spec.image '\n'",
        ] {
            bad(path, "");
        }
        good(".spec.image ");
    }

    #[test]
    fn the_help_names_a_path_that_is_right() {
        let ready = ".status.conditions[?(@.type=='Ready')].status";
        for (path, right) in [
            ("{.spec.image}", ".spec.image"),
            ("$.spec.image", ".spec.image"),
            ("{$.spec.image}", ".spec.image"),
            (".$.spec.image", ".spec.image"),
            ("spec.image", ".spec.image"),
            (".spec.{image}", ".spec.image"),
            (".{.spec.image}", ".spec.image"),
            (".spec.image}", ".spec.image"),
            (".spec.image.", ".spec.image"),
            (". spec . image", ".spec.image"),
            (".spec.image[", ".spec.image"),
            (".spec[\"image\"]", ".spec['image']"),
            (
                ".status.conditions[?(@.type=='Ready' && @.status=='True')].status",
                ready,
            ),
            (".status.conditions[?(@.type='Ready')].status", ready),
            (".status.conditions[?(@.type==Ready)].status", ready),
            (".status.conditions[?(type=='Ready')].status", ready),
            (".status.conditions[?@.type=='Ready'].status", ready),
            (".status.conditions[@.type==\"Ready\"].status", ready),
            (".status.conditions[type=Ready].status", ready),
            ("{.status.conditions[?(@.type=='Ready')].{status}}", ready),
            (".status.conditions.[?(@.type=='Ready')].status", ready),
        ] {
            bad(path, &format!("; write `{right}`"));
            good(right);
        }
        for path in [
            "{.status.message}/{.spec.image}",
            ".status.message/.spec.image",
            ".spec.image,.spec.replicas",
            ".spec.image .spec.replicas",
            ".spec.image}{.spec.replicas",
            "$.spec.image $.spec.replicas",
        ] {
            bad(path, "; a column has one path; add a field to the status");
        }
    }

    #[test]
    fn an_unknown_field_is_named() {
        bad(".spec.imgae", "unknown field `imgae`; did you mean `image`");
        let statos = ".status.conditions[?(@.type==\"Ready\")].statos";
        bad(statos, "unknown field `statos`; did you mean `status`");
        let of_filter = ".status.conditions[?(@.tpye=='Ready')].status";
        bad(of_filter, "unknown field `tpye`; did you mean `type`");
        bad(
            ".status.conditions.type",
            "; select an item by one comparison",
        );
        let label = ".metadata.labels['app.kubernetes.io/name']";
        bad(
            label,
            "unknown field `kubernetes`; a dot in a name is written `\\.`",
        );
    }
}
