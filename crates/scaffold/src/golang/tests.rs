use super::*;

#[test]
fn groups_have_the_domain_of_their_resource() {
    let group = |group: &str, domain: &str| {
        let (group, domain) = (group.to_owned(), domain.to_owned());
        let resource = GoResource {
            group,
            domain,
            ..GoResource::default()
        };
        resource.full_group()
    };
    assert_eq!(group("crew", "example.com"), "crew.example.com");
    assert_eq!(group("apps", ""), "apps");
    assert_eq!(group("core", ""), "");
    assert_eq!(group("", "example.com"), "example.com");
}

#[test]
fn a_project_has_the_controllers_that_old_and_new_releases_record() {
    let text = "version: '3'\nlayout: go.kubebuilder.io/v3\nresources:\n- kind: A\n  controller: true\n- kind: B\n  controllers: [{name: b}, {name: b-backup}]\n- kind: C\n";
    let project = project::parse(text, &mut Budget::default()).unwrap();
    let names: Vec<_> = project
        .resources
        .iter()
        .map(GoResource::controller_names)
        .collect();
    assert_eq!(names, [vec![""], vec!["b", "b-backup"], vec![]]);
    assert_eq!(project.layout, ["go.kubebuilder.io/v3"]);
}

#[test]
fn projects_of_other_languages_and_versions_are_refused_with_the_cure() {
    let refused = |text: &str| {
        format!(
            "{:#}",
            project::parse(text, &mut Budget::default()).unwrap_err()
        )
    };
    let ansible = refused("version: '3'\nlayout: [ansible.sdk.operatorframework.io/v1]\n");
    assert!(
        ansible.contains("not in Go") && ansible.contains("--from-crd"),
        "{ansible}"
    );
    let old = refused("version: '1'\n");
    assert!(old.contains("the version `1`"), "{old}");
    assert!(refused("- 1").contains("not one of kubebuilder"));
}

#[test]
fn a_project_without_a_layout_is_one_in_go_if_it_has_go() {
    let files = |more: &[(&str, &str)]| {
        let files = [("PROJECT", "version: '3'\n")].iter().chain(more);
        let files = files.map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        read(&files.collect())
    };
    let error = files(&[]).unwrap_err().to_string();
    assert!(error.contains("it has no file of Go"), "{error}");
    let module = "// Comment\nmodule example.com/captains/v2\n\ngo 1.24\n";
    let found = files(&[("main.go", ""), ("go.mod", module)]).unwrap();
    assert_eq!(found.project.repo, "example.com/captains/v2");
    let kind = "version: '3'\ndomain: io\nresources: [{group: crew, kind: A, version: v1}]\n";
    let project = project::parse(kind, &mut Budget::default()).unwrap();
    assert!(project.resources[0].is_own());
    assert_eq!(project.resources[0].full_group(), "crew.io");
}

#[test]
fn version_2_says_the_domain_once_for_all_of_its_own_kinds() {
    let text = "version: 2\ndomain: sea.com\nrepo: example.com/captains\nresources:\n- {group: crew, kind: Captain, version: v1}\n- {group: apps, kind: Deployment, version: v1}\n";
    let project = project::parse(text, &mut Budget::default()).unwrap();
    let groups = project
        .resources
        .iter()
        .map(|it| (it.full_group(), it.is_own()));
    let groups: Vec<_> = groups.collect();
    assert_eq!(
        groups,
        [
            ("crew.sea.com".to_owned(), true),
            ("apps".to_owned(), false)
        ]
    );
}

#[test]
fn only_methods_that_controller_runtime_calls_are_reconcilers() {
    let named = |receiver: &str, signature: &str| {
        let text = format!("func ({receiver}) Reconcile({signature} {{\n}}\n");
        let reconcilers = Reconcilers::read([("a.go", &*text)]);
        let names: Vec<_> = reconcilers.all.into_iter().map(|it| it.receiver).collect();
        names.join(" ")
    };
    let usual = "ctx context.Context, req ctrl.Request) (ctrl.Result, error)";
    for signature in [
        usual,
        "_ context.Context, req reconcile.Request) (result ctrl.Result, err error)",
        "request reconcile.Request) (reconcile.Result, error)",
        "\n\tctx context.Context,\n\treq ctrl.Request,\n) (ctrl.Result, error)",
    ] {
        assert_eq!(
            named("r *CaptainReconciler", signature),
            "CaptainReconciler",
            "{signature}"
        );
    }
    assert_eq!(named("r *Crew[T, PT]", usual), "Crew");
    assert_eq!(named("*Crew[T, PT]", usual), "Crew");
    for signature in [
        "ctx context.Context, captain *v1.Captain) (ctrl.Result, error)",
        "ctx context.Context, req SecretRequest) error",
        "ctx context.Context, req ctrl.Request) error",
        ") error",
    ] {
        assert_eq!(named("r *Part", signature), "", "{signature}");
    }
    let object = "func (r *Crew) Reconcile(ctx context.Context, captain *v1.Captain) (ctrl.Result, error) {\n";
    let text = object.to_owned() + "\tctrl.NewControllerManagedBy(mgr).For(&v1.Captain{})\n";
    let reconcilers = Reconcilers::read([("a.go", &*text)]);
    assert_eq!(reconcilers.all.len(), 1);
}

#[test]
fn go_files_say_who_reconciles_and_what_they_need() {
    let text = "// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get\n// +kubebuilder:object:root=true\nconst captainFinalizer = \"crew.example.com/ship\"\nvar finalizers = 3\nfunc (r *CaptainReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {}\nfunc (CaptainReconciler) Reconcile(\n\tctx context.Context, req ctrl.Request) (ctrl.Result, error) {\nfunc (r *Other) Reset() {}\n";
    let reconcilers = Reconcilers::read([("a.go", text)]);
    let names: Vec<_> = reconcilers
        .all
        .iter()
        .map(|it| it.receiver.as_str())
        .collect();
    assert_eq!(names, ["CaptainReconciler", "CaptainReconciler"]);
    let markers = source::markers("a.go", text);
    assert_eq!(markers.len(), 1);
    assert_eq!(
        markers[0].line(),
        "// +kbr:rbac:groups=apps,resources=deployments,verbs=get"
    );
    assert_eq!(markers[0].value("resources"), Some("deployments"));
    assert_eq!(source::finalizers(text), ["crew.example.com/ship"]);
}

#[test]
fn resources_of_kubebuilder_itself_are_no_choice_of_the_user() {
    let manager = |limit: &str| {
        let text = format!(
            "kind: Deployment\nspec:\n  replicas: 1\n  template:\n    spec:\n      containers:\n      - name: manager\n        args: [--leader-elect, --metrics-bind-address=:8443, --tide=high]\n        resources:\n          limits: {{cpu: 500m, memory: {limit}}}\n          requests: {{cpu: 10m, memory: 64Mi}}\n"
        );
        let files = Files::from([("config/manager/manager.yaml".to_owned(), text)]);
        manifests::manager(&files, &Rendered::default(), &mut Budget::default())
    };
    assert_eq!(manager("128Mi").resources, None);
    assert_eq!(manager("128Mi").flags, ["--tide=high"]);
    assert_eq!(manager("128Mi").replicas, None);
    assert!(manager("1Gi").resources.is_some());
}

#[test]
fn what_could_change_the_meaning_of_a_file_is_not_carried() {
    assert_eq!(image("IMG ?= a; touch x\n"), None);
    assert_eq!(image("IMG ?= $(shell id)\n"), None);
    assert_eq!(image("IMG ?= --privileged\n"), None);
    assert_eq!(
        image("IMG ?= r.io:5000/a/b@sha256:0\n").as_deref(),
        Some("r.io:5000/a/b@sha256:0")
    );
    let text =
        "kind: Deployment\nspec: { selector: { matchLabels: { \"a: b\\n  replicas\": \"9\" } } }\n";
    let files = Files::from([
        (
            "PROJECT".to_owned(),
            "version: '3'\nlayout: go.kubebuilder.io/v4\n".to_owned(),
        ),
        ("config/manager/manager.yaml".to_owned(), text.to_owned()),
    ]);
    let head = crate::project::Head {
        layout: String::new(),
        kbr: String::new(),
        name: "captains".to_owned(),
        domain: "example.com".to_owned(),
        repo: String::new(),
        owner: String::new(),
        license: String::new(),
        library: crate::library::Origin::default(),
        names: crate::project::Given::default(),
    };
    let project = crate::project::Project::new(head);
    let edits = format!(
        "{:?}",
        carried::deployment(&read(&files).unwrap(), &project)
    );
    assert!(!edits.contains("a: b"), "{edits}");
}

#[test]
fn the_name_of_a_file_that_no_one_sees_whole_is_refused() {
    let project = "version: '3'\nlayout: go.kubebuilder.io/v4\n";
    for name in ["a\nfn run() {}\n.go", "a\u{202e}.go", "config/a\r.yaml"] {
        let files = [("PROJECT", project), (name, "")];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let error = read(&files.into()).unwrap_err().to_string();
        let shown = format!("`{}`", name.escape_debug());
        assert!(error.contains(&shown), "{error}");
    }
}

#[test]
fn names_of_a_resource_that_are_commands_are_refused() {
    for entry in [
        "kind: A; run",
        "kind: A, group: $(run)",
        "kind: A, version: v1`run`",
    ] {
        let text =
            format!("version: '3'\nlayout: go.kubebuilder.io/v4\nresources: [{{{entry}}}]\n");
        let error = project::parse(&text, &mut Budget::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains("not a kind"), "{error}");
    }
}

#[test]
fn components_of_the_project_in_go_stay_switched_on() {
    let components = |resources: &str, namespaced: bool| {
        let text = format!("resources:\n- ../crd\n# - ../network-policy\n{resources}");
        let path = "config/default/kustomization.yaml".to_owned();
        let project = GoProject {
            namespaced,
            ..GoProject::default()
        };
        let files = [(path, text)].into();
        let rendered = kustomize::render(&files, manifests::DEFAULT, &mut Budget::default());
        manifests::components(&rendered, &project)
    };
    assert_eq!(components("", false), [""; 0]);
    assert_eq!(components("- ../prometheus\n", false), ["prometheus"]);
    assert_eq!(
        components("components: [../network-policy]\n", true),
        ["network-policy", "namespaced"]
    );
}

#[test]
fn what_becomes_a_part_of_all_objects_is_counted_for_each() {
    let objects = "---\nkind: A\nmetadata: {name: a}\n".repeat(1000);
    let labels = format!("a: {}", "x".repeat(100_000));
    for (more, is_large) in [
        ("namePrefix: a-\n".to_owned(), false),
        (format!("commonLabels: {{{labels}}}\n"), true),
        (format!("namePrefix: {}\n", "a".repeat(100_000)), true),
        (
            format!(
                "patches:\n- target: {{kind: A}}\n  patch: '{{metadata: {{annotations: {{{labels}}}}}}}'\n"
            ),
            true,
        ),
    ] {
        let files = [
            ("all.yaml", objects.clone()),
            (
                "kustomization.yaml",
                format!("resources: [all.yaml]\n{more}"),
            ),
        ];
        let files = files.map(|(name, text)| (format!("config/default/{name}"), text));
        let mut budget = Budget::default();
        let rendered = kustomize::render(&files.into(), manifests::DEFAULT, &mut budget);
        assert_eq!(rendered.objects.len(), 1000);
        assert_eq!(
            budget.is_spent(),
            is_large,
            "{}",
            &more[..20.min(more.len())]
        );
    }
}

#[test]
fn the_sample_that_the_kustomization_lists_comes_first() {
    let sample = |name: &str| format!("apiVersion: a/v1\nkind: A\nmetadata: {{name: {name}}}\n");
    let files = [
        ("a_volumes.yaml", sample("volumes")),
        ("b.yaml", sample("usual")),
        ("kustomization.yaml", "resources: [./b.yaml]\n".to_owned()),
    ];
    let files = files.map(|(name, text)| (format!("config/samples/{name}"), text));
    let samples = manifests::samples(&files.into(), &mut Budget::default());
    let paths: Vec<_> = samples.all.iter().map(|it| &*it.path).collect();
    assert_eq!(
        paths,
        ["config/samples/b.yaml", "config/samples/a_volumes.yaml"]
    );
}

#[test]
fn a_type_whose_methods_another_reconciler_calls_is_that_of_its_file() {
    let whole = "func (r *TopologyReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {\n}\n";
    let part = "type QueueReconciler struct{}\n\nfunc (r *QueueReconciler) Declare() error {\n}\n";
    let setup = "func (r *TopologyReconciler) Setup() error {\n}\n";
    let reconcilers = Reconcilers::read([
        ("c/topology_controller.go", whole),
        ("c/topology_setup_controller.go", setup),
        ("c/queue_controller.go", part),
        ("c/queue_helper.go", part),
    ]);
    let found: Vec<_> = reconcilers
        .all
        .iter()
        .map(|it| (&*it.path, it.is_part))
        .collect();
    assert_eq!(
        found,
        [
            ("c/topology_controller.go", false),
            ("c/queue_controller.go", true)
        ]
    );
}

#[test]
fn of_an_argument_that_is_there_twice_the_last_one_counts_as_for_controller_gen() {
    for (written, read) in [
        (
            "path=/a,failurePolicy=fail,verbs={create,update},failurePolicy=ignore",
            "path=/a,failurePolicy=ignore,verbs={create,update}",
        ),
        (
            "groups=apps,resources=a;b,verbs=get",
            "groups=apps,resources=a;b,verbs=get",
        ),
        ("verbs={create,update},verbs=delete", "verbs=delete"),
        (
            "verbs=delete,path=/a,verbs={create,update}",
            "verbs={create,update},path=/a",
        ),
    ] {
        let text = format!("// +kubebuilder:webhook:{written}\n");
        assert_eq!(source::markers("a.go", &text)[0].arguments, read);
    }
}

#[test]
fn a_webhook_of_an_older_kubernetes_is_one_that_the_api_server_accepts() {
    let corrected = |arguments: &str| {
        let text = format!("// +kubebuilder:webhook:{arguments}\n");
        let mut marker = source::markers("a.go", &text).remove(0);
        let notes = webhooks::correct(&mut marker).len();
        (marker.arguments, notes)
    };
    let good =
        "path=/a,sideEffects=NoneOnDryRun,admissionReviewVersions={v1,v1beta1},timeoutSeconds=9";
    assert_eq!(corrected(good), (good.to_owned(), 0));
    let old =
        "path=/a,admissionReviewVersions=v1beta1,webhookVersions={v1,v1beta1},timeoutSeconds=60";
    let now = "path=/a,admissionReviewVersions=v1,sideEffects=None";
    assert_eq!(corrected(old), (now.to_owned(), 4));
}

#[test]
fn a_variable_in_a_deployment_is_not_rendered_and_said() {
    let unknown = |used: &str| {
        let deployment =
            format!("kind: Deployment\nmetadata: {{name: a}}\nspec: {{value: '{used}'}}\n");
        let kustomization = "resources: [a.yaml]\nvars: [{name: IMAGE}]\n".to_owned();
        let files = [
            ("a.yaml", deployment),
            ("kustomization.yaml", kustomization),
        ];
        let files = files.map(|(name, text)| (format!("config/default/{name}"), text));
        kustomize::render(&files.into(), manifests::DEFAULT, &mut Budget::default()).unknown
    };
    let said = "the variable `IMAGE` of `config/default/kustomization.yaml`".to_owned();
    assert_eq!(unknown("a $(IMAGE) b"), [said].into());
    assert_eq!(unknown("$(OTHER) $(IMAGE"), [].into());
}

#[test]
fn a_kustomization_is_read_whatever_the_case_of_its_keys() {
    let kustomization = "Resources: [a.yaml]\nLabels: [{IncludeSelectors: false, Pairs: {Crew: North}}]\nNamePrefix: sea-\nPatches: [{Target: {Kind: A}, Patch: '{metadata: {annotations: {Path: x}}}'}]\n";
    let files = [
        ("a.yaml", "kind: A\nmetadata: {name: a}\n"),
        ("kustomization.yaml", kustomization),
    ];
    let files = files.map(|(name, text)| (format!("config/default/{name}"), text.to_owned()));
    let rendered = kustomize::render(&files.into(), manifests::DEFAULT, &mut Budget::default());
    let metadata = serde_json::json!({
        "name": "sea-a", "labels": { "Crew": "North" }, "annotations": { "Path": "x" },
    });
    assert_eq!(rendered.objects[0].value["metadata"], metadata);
    assert!(rendered.unknown.is_empty(), "{:?}", rendered.unknown);
}
