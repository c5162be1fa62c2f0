//! The files of a chart that are not objects.

use serde_json::{Value, json};

use super::names::Names;
use super::values::Row;

/// What the metadata of a chart says.
#[derive(Clone, Debug)]
pub struct About<'a> {
    /// The name of the project.
    pub name: &'a str,
    /// A semantic version, of the chart and of the operator.
    pub version: &'a str,
}

/// `Chart.yaml`.
pub fn chart(about: &About<'_>, crds: bool) -> Value {
    let mut chart = json!({
        "apiVersion": "v2",
        "name": about.name,
        "description": format!("The operator {}", about.name),
        "type": "application",
        "version": about.version,
        "appVersion": about.version,
    });
    if crds {
        // A chart of their own: Helm stores the templates of a chart in the Secret of each release, which may have 1 MiB, but not those of a subchart.
        chart["dependencies"] = json!([{
            "name": "crds",
            "alias": "crd",
            "version": about.version,
            "condition": "crd.enabled",
        }]);
    }
    chart
}

/// `Chart.yaml` of the subchart with the CRDs.
pub fn crds(about: &About<'_>) -> Value {
    json!({
        "apiVersion": "v2",
        "name": "crds",
        "description": format!("The CRDs of the operator {}", about.name),
        "type": "application",
        "version": about.version,
    })
}

/// The values of the subchart, as the chart sees them.
pub fn crd_values() -> Vec<Row> {
    let boolean = || json!({ "type": "boolean" });
    vec![
        Row::new(
            "crd.enabled",
            json!(true),
            boolean(),
            "Whether the release installs the CRDs; of several releases in a cluster, one does",
        ),
        Row::new(
            "crd.keep",
            json!(true),
            boolean(),
            "Whether `helm uninstall` keeps the CRDs, and with them all of their objects",
        ),
    ]
}

/// `templates/_helpers.tpl`.
pub fn helpers(names: &Names) -> String {
    let base = match names.base() {
        base if base == names.chart() => ".Chart.Name".to_owned(),
        base => format!("\"{base}\""),
    };
    let helpers = HELPERS.replace("BASE", &base);
    helpers.replace("NAME", names.chart()) + &names.helpers()
}

const HELPERS: &str = r#"{{/* What the names of all objects begin with. */}}
{{- define "NAME.fullname" -}}
{{- .Values.fullnameOverride | default .Values.nameOverride | default BASE -}}
{{- end -}}

{{/* The image of the operator. A tag that is a digest is joined with `@`, and a repository with a digest is complete. */}}
{{- define "NAME.image" -}}
{{- $image := .Values.manager.image -}}
{{- $tag := $image.tag | default .Chart.AppVersion -}}
{{- if contains "@" $image.repository -}}
{{- $image.repository -}}
{{- else if contains ":" $tag -}}
{{- $image.repository }}@{{ $tag -}}
{{- else -}}
{{- $image.repository }}:{{ $tag -}}
{{- end -}}
{{- end -}}

{{/* Whether a list has an item with this name, or a flag with it. */}}
{{- define "NAME.names" -}}
{{- $name := index . 1 -}}
{{- range index . 0 -}}
{{- if kindIs "map" . -}}
{{- if eq .name $name -}}true{{- end -}}
{{- else if eq (first (splitList "=" (toString .))) $name -}}true{{- end -}}
{{- end -}}
{{- end -}}
"#;

/// `templates/NOTES.txt`.
pub fn notes(names: &Names, kinds: &[String]) -> String {
    let (name, label) = (names.chart(), names.label_helper());
    let runs = format!(
        "{name} {{{{ .Chart.AppVersion }}}} runs in the namespace {{{{ .Release.Namespace }}}}:\n\n    \
         kubectl --namespace {{{{ .Release.Namespace }}}} get pods --selector app.kubernetes.io/name={{{{ include \"{name}.{label}\" . }}}}\n"
    );
    if kinds.is_empty() {
        return runs;
    }
    let kinds = kinds.join(", ");
    format!(
        "{runs}\n\
         Before `helm uninstall`, delete the objects that this operator manages: {kinds}.\n\
         An object with a finalizer of this operator cannot be deleted once the operator is gone.\n\
         {{{{- if .Values.crd.keep }}}}\nThe CRDs and all of their objects stay: `crd.keep` is true.\n\
         {{{{- else }}}}\nThe CRDs and all of their objects are deleted: `crd.keep` is false.\n{{{{- end }}}}\n"
    )
}

/// `.helmignore`.
pub const IGNORED: &str =
    "# Files that Helm does not package.\n.git/\n.DS_Store\n*.swp\n*.bak\n*.tgz\n";

/// `README.md`.
pub fn readme(names: &Names, table: &str) -> String {
    let (name, namespace) = (names.chart(), names.namespace());
    format!(
        "# {name}\n\n    helm install {name} . --namespace {namespace} --create-namespace\n\n\
         If `make deploy` installed the operator before, add `--take-ownership`: all names are the same.\n\n\
         Before `helm uninstall`, delete the objects that the operator manages.\n\
         An object with a finalizer of the operator cannot be deleted once the operator is gone.\n\n\
         ## Values\n\n{table}"
    )
}
