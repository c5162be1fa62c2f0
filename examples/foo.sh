# Foo: a Deployment for each object.
kbr init --project-name myk8soperator --domain c9g.io --repo github.com/caodailiang/myk8soperator
kbr create api --group samplecontroller --version v1alpha1 --kind Foo --resource --controller
edit api/src/samplecontroller/v1alpha1/foo.rs src/controllers/foo.rs tests/integration/foo.rs
edit config/samples/samplecontroller_v1alpha1_foo.yaml README.md
add tests/integration/without_replicas.yaml
kbr manifests
