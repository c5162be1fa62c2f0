//! The types of objects that Go code names, and the packages that they come from.

use std::collections::BTreeMap;

/// A type of an object: `crewv1.Captain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoType {
    /// The path that the file imports: `example.com/captains/api/crew/v1`; empty for a type of the file's own package.
    pub package: String,
    /// `Captain`.
    pub name: String,
}

impl GoType {
    /// The last words of the package's path: the folder of its group, and its version.
    pub fn group_and_version(&self) -> (&str, &str) {
        let (rest, version) = self.package.rsplit_once('/').unwrap_or_default();
        (rest.rsplit('/').next().unwrap_or_default(), version)
    }
}

/// The packages that a file imports, by their names in it.
#[derive(Debug)]
pub struct Imports<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Imports<'a> {
    /// Those of a file: `crewv1 "example.com/captains/api/crew/v1"`.
    pub fn of(text: &'a str) -> Self {
        let mut all = BTreeMap::new();
        let lines = text.lines().take_while(|line| !line.starts_with("func "));
        for line in lines {
            let line = line.trim();
            let line = line.strip_prefix("import ").unwrap_or(line);
            let Some((name, path)) = line.strip_suffix('"').and_then(|it| it.split_once('"'))
            else {
                continue;
            };
            let name = match name.trim() {
                "" => path.rsplit('/').next().unwrap_or_default(),
                "." => "",
                name => name,
            };
            all.entry(name).or_insert(path);
        }
        Self(all)
    }

    /// The type of `&crewv1.Captain{}` or `new(crewv1.Captain)`, with which the text begins.
    fn type_at(&self, text: &str) -> Option<GoType> {
        let text = text.trim_start();
        let (text, end) = match text.strip_prefix('&') {
            Some(text) => (text, '{'),
            None => (text.strip_prefix("new(")?, ')'),
        };
        let (name, rest) = text.split_at(length(text));
        let (package, name) = name.split_once('.').unwrap_or(("", name));
        let is_type = rest.starts_with(end) && name.starts_with(|it: char| it.is_ascii_uppercase());
        is_type.then(|| GoType {
            package: (*self.0.get(package).unwrap_or(&"")).to_owned(),
            name: name.to_owned(),
        })
    }
}

/// The length of the name with which a text begins.
fn length(text: &str) -> usize {
    let is_part = |it: char| it.is_ascii_alphanumeric() || "_.".contains(it);
    text.find(|it| !is_part(it)).unwrap_or(text.len())
}

/// The type of a receiver: `r *CaptainReconciler`.
pub fn name(receiver: &str) -> &str {
    let name = receiver.split('[').next().unwrap_or_default();
    let (_, name) = name.rsplit_once(' ').unwrap_or(("", name));
    name.trim_start_matches('*')
}

/// The kinds that controllers are built for, each with the type whose method builds it, which is empty for functions:
/// `For(&crewv1.Captain{})` over one or more lines, `For(captain)` of a variable, and what a method `For` returns.
pub fn watched<'a>(text: &'a str, imports: &Imports) -> Vec<(&'a str, GoType)> {
    let mut found = Vec::new();
    let (mut receiver, mut method, mut is_webhook) = ("", "", false);
    let mut variables: BTreeMap<&str, GoType> = BTreeMap::new();
    let mut end = 0;
    for whole in text.split_inclusive('\n') {
        end += whole.len();
        let line = whole.trim();
        if let Some(rest) = whole.strip_prefix("func ") {
            let parts = rest.strip_prefix('(').and_then(|it| it.split_once(") "));
            let (of, rest) = parts.unwrap_or(("", rest));
            (receiver, method, is_webhook) = (name(of), &rest[..length(rest)], false);
            variables.clear();
        } else if line.starts_with("//") {
            continue;
        }
        if line.contains("ManagedBy(") {
            is_webhook = line.contains("WebhookManagedBy(");
        }
        if let Some((name, value)) = line.split_once(":= ").or_else(|| line.split_once(" = ")) {
            variables.extend(imports.type_at(value).map(|it| (name.trim(), it)));
        }
        if method == "For" {
            let value = line.strip_prefix("return ");
            found.extend(Some(receiver).zip(value.and_then(|it| imports.type_at(it))));
        }
        let (_, rest) = line.split_at(line.find("For(").unwrap_or(line.len()));
        let is_call = line.len() == rest.len() || line[..line.len() - rest.len()].ends_with('.');
        let Some(argument) = rest.strip_prefix("For(").filter(|_| is_call && !is_webhook) else {
            continue;
        };
        // The argument may be on the next line.
        let argument = match argument {
            "" => text[end..].lines().next().unwrap_or_default().trim(),
            _ => argument,
        };
        let kind = imports.type_at(argument);
        let variable = || variables.get(&argument[..length(argument)]).cloned();
        found.extend(Some(receiver).zip(kind.or_else(variable)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: &str, expected: &str) {
        let text = format!(
            "import (\n\tcrewv1 \"example.com/api/crew/v1\"\n\t\"k8s.io/api/core/v1\"\n)\n\n{code}"
        );
        let found = watched(&text, &Imports::of(&text));
        let found = found.iter().map(|(receiver, GoType { package, name })| {
            let package = package.rsplit("/api/").next().unwrap_or_default();
            format!("{receiver}: {package}/{name}")
        });
        assert_eq!(found.collect::<Vec<_>>().join(", "), expected, "{code}");
    }

    #[test]
    fn the_kind_of_a_controller_is_what_is_passed_to_for() {
        let captain = "R: crew/v1/Captain";
        let setup = "func (r *R) SetupWithManager(mgr ctrl.Manager) error {\n\t";
        for code in [
            "return ctrl.NewControllerManagedBy(mgr).For(&crewv1.Captain{}).Complete(r)",
            "return builder.ControllerManagedBy(mgr).\n\t\tFor(&crewv1.Captain{}, builder.WithPredicates(p)).\n\t\tComplete(r)",
            "b := ctrl.NewControllerManagedBy(mgr).Named(\"a\").\n\t\tFor(\n\t\t\t&crewv1.Captain{},\n\t\t)",
            "b.For(new(crewv1.Captain))",
            "captain := &crewv1.Captain{}\n\tb.For(captain).Complete(r)",
            "// For(&v1.Pod{})\n\tb.For(&crewv1.Captain{})",
        ] {
            check(&format!("{setup}{code}\n}}\n"), captain);
        }
        check(
            "func (r *R) For() (client.Object, builder.Predicates) {\n\treturn &crewv1.Captain{}, p\n}\n",
            captain,
        );
        check(
            "func Add(mgr) {\n\tctrl.NewControllerManagedBy(mgr).For(&v1.Pod{})\n}\n",
            ": core/v1/Pod",
        );
        check(
            "func (r *R) Other(mgr) {\n\tb.For(&Captain{})\n}\n",
            "R: /Captain",
        );
    }

    #[test]
    fn webhooks_and_other_calls_build_no_controller() {
        for code in [
            "func (r *R) SetupWebhookWithManager(mgr ctrl.Manager) error {\n\treturn ctrl.NewWebhookManagedBy(mgr).\n\t\tFor(&crewv1.Captain{}).\n\t\tComplete()\n}\n",
            "func (r *R) A() {\n\twait.For(\n\t\tx)\n\twaitFor(&crewv1.Captain{})\n\tb.For(r.Type)\n\tb.For(&captain{})\n}\n",
        ] {
            check(code, "");
        }
    }
}
