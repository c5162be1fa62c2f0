//! What kbr reads of strangers costs in proportion to its size: each input is doubled, and what is allocated is compared. Growing with
//! the square shows as four times the number or the bytes.

use std::collections::BTreeSet;

use allocation_counter::measure;
use kbr_scaffold::golang::{self, Files, carried};
use kbr_scaffold::imported;
use kbr_scaffold::library::Origin;
use kbr_scaffold::project::{Given, Head};
use kbr_scaffold::resource::controller::Controller;
use kbr_scaffold::resource::target::Target;
use serde_json::{Value, json};

/// A CRD with this schema of `spec`.
fn crd(spec: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "ships.x.io" },
        "spec": {
            "group": "x.io", "scope": "Namespaced", "names": { "kind": "Ship", "plural": "ships" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": spec },
            } } }],
        },
    })
}

fn object(fields: impl IntoIterator<Item = (String, Value)>) -> Value {
    json!({ "type": "object", "properties": fields.into_iter().collect::<serde_json::Map<_, _>>() })
}

fn texts(count: usize, text: impl Fn(usize) -> String) -> Vec<String> {
    (0..count).map(text).collect()
}

/// A text of signs that no name has: different ones are the same name.
fn signs(number: usize) -> String {
    (0..16)
        .map(|bit| if number >> bit & 1 == 1 { '-' } else { '.' })
        .collect()
}

fn string() -> Value {
    json!({ "type": "string" })
}

fn fields(n: usize, schema: impl Fn(usize) -> Value) -> Value {
    object((0..n).map(|at| (format!("f{at}"), schema(at))))
}

fn items(schema: &Value) -> Value {
    json!({ "type": "array", "items": schema })
}

/// What makes inputs of a size.
type Family<T> = (&'static str, fn(usize) -> T);

/// Schemas of a size.
const SCHEMAS: &[Family<Value>] = &[
    ("values of an enum", |n| {
        object([(
            "a".to_owned(),
            json!({ "type": "string", "enum": texts(n, |at| format!("value{at}")) }),
        )])
    }),
    ("values that are one name", |n| {
        object([(
            "a".to_owned(),
            json!({ "type": "string", "enum": texts(n, |at| format!("a{}", signs(at))) }),
        )])
    }),
    ("values without a name", |n| {
        object([(
            "a".to_owned(),
            json!({ "type": "string", "enum": texts(n, signs) }),
        )])
    }),
    ("fields", |n| fields(n, |_| string())),
    ("required fields", |n| {
        let mut all = fields(n, |_| string());
        all["required"] = json!(texts(n, |at| format!("f{at}")));
        all
    }),
    ("fields that are one name", |n| {
        object((0..n).map(|at| (format!("a{}", signs(at)), string())))
    }),
    ("defaults", |n| {
        let mut all = object((0..n).map(|at| {
            (
                format!("a{}", signs(at)),
                json!({ "type": "string", "default": format!("{at}") }),
            )
        }));
        all["required"] = json!(texts(n, |at| format!("a{}", signs(at))));
        all
    }),
    ("structs", |n| {
        fields(n, |at| object([(format!("g{at}"), string())]))
    }),
    ("structs of one name", |n| {
        object((0..n).map(|at| {
            (
                format!("a{}", signs(at)),
                object([(format!("g{at}"), string())]),
            )
        }))
    }),
    ("equal structs", |n| {
        fields(n, |_| object([("g".to_owned(), string())]))
    }),
    ("items that differ in their documentation", |n| {
        fields(n, |at| {
            let mut item = object([("g".to_owned(), string())]);
            item["description"] = json!(format!("Number {at}."));
            items(&item)
        })
    }),
    ("types of k8s-openapi", |n| {
        fields(n, |at| {
            let mut selector = object(
                [
                    ("key", "string"),
                    ("optional", "boolean"),
                    ("name", "string"),
                ]
                .map(|(name, ty)| (name.to_owned(), json!({ "type": ty }))),
            );
            selector["required"] = json!(["key"]);
            selector["properties"]["key"]["minLength"] = json!(at);
            selector
        })
    }),
    ("fields below deep ones", |n| {
        (0..40).fold(fields(n, |_| string()), |inner, at| {
            object([(format!("d{at}"), inner)])
        })
    }),
    ("structs below deep ones", |n| {
        (0..40).fold(
            fields(n, |at| object([(format!("g{at}"), string())])),
            |inner, at| object([(format!("d{at}"), inner)]),
        )
    }),
    ("fields below a long name", |n| {
        object([(
            "x".repeat(40 * n),
            fields(n, |at| {
                object([(
                    format!("g{at}"),
                    json!({ "oneOf": [] , "type": "string", "not": {"enum": [1]}}),
                )])
            }),
        )])
    }),
    ("letters of a name", |n| {
        object([("x".repeat(100 * n), object([("g".to_owned(), string())]))])
    }),
    ("alternatives", |n| {
        object([(
            "a".to_owned(),
            json!({ "type": "string", "anyOf": texts(n, |at| format!("^{at}")).iter().map(|it| json!({ "pattern": it })).collect::<Vec<_>>() }),
        )])
    }),
    ("rules", |n| {
        let mut all = fields(3, |_| string());
        all["x-kubernetes-validations"] = texts(n, |at| format!("self.f1 != '{at}'"))
            .iter()
            .map(|it| json!({ "rule": it, "message": "m" }))
            .collect();
        all
    }),
    ("hashes after a quote", |n| {
        object([(
            "a".to_owned(),
            json!({ "type": "string", "default": format!("\"{}", "#".repeat(50 * n)), "example": (0..90).fold(json!(format!("\"{}", "#".repeat(50 * n))), |it, _| json!([it])) }),
        )])
    }),
    ("lines of a description", |n| {
        object([(
            "a".to_owned(),
            json!({ "type": "string", "description": texts(n, |at| format!("Line {at}.")).join("\n") }),
        )])
    }),
    ("data of a default", |n| {
        object([(
            "a".to_owned(),
            json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true, "default": fields(n, |at| json!(at)) }),
        )])
    }),
];

/// The number of allocations and their bytes.
fn import(crd: &Value) -> [u64; 2] {
    let text = crd.to_string();
    let info = measure(|| {
        let definition = imported::read(&text, None).unwrap();
        assert!(!definition.types()[0].text.is_empty());
    });
    [info.count_total, info.bytes_total]
}

/// Fails if twice the size takes much more than twice the allocations or bytes.
fn assert_linear(name: &str, mut run: impl FnMut(usize) -> [u64; 2]) {
    let (small, large) = (run(200), run(400));
    for (small, large) in small.into_iter().zip(large) {
        assert!(
            10 * large < 26 * small + 10_000,
            "{name}: {small} -> {large}"
        );
    }
}

#[test]
fn an_import_of_a_crd_grows_with_its_size() {
    for (name, family) in SCHEMAS {
        assert_linear(name, |size| import(&crd(&family(size))));
    }
}

fn project(files: impl IntoIterator<Item = (String, String)>) -> Files {
    let mut files: Files = files.into_iter().collect();
    let project = files.entry("PROJECT".to_owned()).or_default();
    project.insert_str(0, "version: '3'\nlayout: go.kubebuilder.io/v4\n");
    files
}
/// A project with a kustomization, which has more than its resources, and their objects.
fn deployed(kustomization: &str, objects: &str) -> Files {
    let kustomization = format!("namePrefix: a-\nresources: [all.yaml]\n{kustomization}");
    project([
        (
            "config/default/kustomization.yaml".to_owned(),
            kustomization,
        ),
        ("config/default/all.yaml".to_owned(), objects.to_owned()),
    ])
}

fn lines(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).map(line).collect()
}

/// Go projects of a size.
const PROJECTS: &[Family<Files>] = &[
    ("reconcilers of a file", |n| {
        project([(
            "a.go".to_owned(),
            lines(n, |at| {
                format!(
                    "func (r *A{at}Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {{\n"
                )
            }),
        )])
    }),
    ("kinds of a file", |n| {
        project([(
            "a.go".to_owned(),
            "func (r *AReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {\n".to_owned()
                + &lines(n, |at| format!("For(&v1.A{at}{{}})\n")),
        )])
    }),
    ("files with a reconciler", |n| {
        project((0..n).map(|at| {
            (
                format!("p{at}/a.go"),
                "func (r *AReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {\n".to_owned(),
            )
        }))
    }),
    ("permissions", |n| {
        project([(
            "a.go".to_owned(),
            "func (r *AReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {\n".to_owned()
                + &lines(n, |at| {
                    format!("// +kubebuilder:rbac:groups=g{at},resources=a,verbs=get\n")
                }),
        )])
    }),
    ("files with permissions", |n| {
        project((0..n).map(|at| {
            (
                format!("p{at}.go"),
                "// +kubebuilder:rbac:groups=g,resources=a,verbs=get\n".to_owned(),
            )
        }))
    }),
    ("finalizers", |n| {
        project([(
            "a.go".to_owned(),
            lines(n, |at| format!("const finalizer{at} = \"a.io/{at}\"\n")),
        )])
    }),
    ("field owners", |n| {
        project([(
            "a.go".to_owned(),
            lines(n, |at| format!("client.FieldOwner(\"o{at}\")\n")),
        )])
    }),
    ("samples", |n| {
        project((0..n).map(|at| {
            (
                format!("config/samples/{at}.yaml"),
                "apiVersion: x.io/v1\nkind: A\n".to_owned(),
            )
        }))
    }),
    ("variables", |n| {
        project([(
            "config/manager/manager.yaml".to_owned(),
            format!(
                "kind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n      - env: [{}]\n",
                lines(n, |at| format!("{{name: a{at}}}, "))
            ),
        )])
    }),
    ("other files", |n| {
        project((0..n).map(|at| (format!("config/other/{at}.yaml"), String::new())))
    }),
    ("objects of a kustomization", |n| {
        deployed(
            "",
            &lines(n, |at| {
                format!(
                    "---\nkind: ClusterRole\nmetadata: {{name: r{at}}}\nrules: []\n---\nkind: ClusterRoleBinding\nmetadata: {{name: r{at}}}\n\
                     roleRef: {{kind: ClusterRole, name: r{at}}}\nsubjects: [{{kind: ServiceAccount, name: a{at}}}]\n"
                )
            }),
        )
    }),
    ("patches of lists", |n| {
        let tolerations = |word: &str| lines(n, |at| format!("{{name: {word}{at}}}, "));
        let patch = format!(
            "patches:\n- patch: |-\n    kind: Deployment\n    metadata: {{name: m}}\n    spec: {{template: {{spec: {{volumes: [{}]}}}}}}\n",
            tolerations("v")
        );
        let volumes = format!(
            "---\nkind: Deployment\nmetadata: {{name: m}}\nspec: {{template: {{spec: {{volumes: [{}]}}}}}}\n",
            tolerations("v")
        );
        deployed(&patch, &volumes)
    }),
    ("unknown keys of a kustomization", |n| {
        deployed(&lines(n, |at| format!("k{at}: 1\n")), "")
    }),
    ("aliases", |n| {
        project((0..10).map(|at| {
            (
                format!("config/samples/{at}.yaml"),
                format!("a: &a [{}]\nb: [{}]\n", "x, ".repeat(30), "*a, ".repeat(n)),
            )
        }))
    }),
    ("words of a marker", |n| {
        project([(
            "a.go".to_owned(),
            format!(
                "// +kubebuilder:webhook:path=/a,mutating=true,groups=a,versions=v1,resources={}\n",
                "a;".repeat(n)
            ),
        )])
    }),
];

#[test]
fn an_import_of_a_go_project_grows_with_its_size() {
    let target = |kind: &str| Target {
        group: "g".to_owned(),
        full_group: "g.io".to_owned(),
        version: "v1".to_owned(),
        kind: kind.to_owned(),
        plural: "as".to_owned(),
        namespaced: true,
        type_path: String::new(),
        external_crate: String::new(),
        dependency: None,
    };
    let head = Head {
        layout: "v1".to_owned(),
        kbr: String::new(),
        name: "a".to_owned(),
        domain: "g.io".to_owned(),
        repo: String::new(),
        owner: String::new(),
        license: String::new(),
        library: Origin::default(),
        names: Given::default(),
    };
    for (name, family) in PROJECTS {
        assert_linear(name, |size| {
            let files = family(size);
            let controllers =
                (0..size).map(|at| Controller::new(format!("a{at}"), target(&format!("A{at}"))));
            let controllers: Vec<_> = controllers.collect();
            let info = measure(|| {
                let found = golang::read(&files).unwrap();
                let mut carried = BTreeSet::new();
                for controller in &controllers {
                    let reconciler = found.reconcilers.of(controller, "g");
                    if let Some(it) = reconciler.filter(|it| carried.insert(it.path.clone())) {
                        carried::controller(controller, it, &found.permissions);
                    }
                }
                carried::others(&found.permissions, |path| carried.contains(path));
                golang::deployed::deployed(&found, &head).unwrap();
                golang::deployed::permissions(&found);
            });
            [info.count_total, info.bytes_total]
        });
    }
}
