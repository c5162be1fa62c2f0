# At: a command that runs once, at a given time.
kbr init --project-name cnat --domain programming-kubernetes.info --repo kubernetesapi
kbr create api --group cnat --version v1alpha1 --kind At --resource --controller
edit api/src/cnat/v1alpha1/at.rs src/controllers/at.rs
add src/controllers/at/pod.rs src/controllers/at/tests.rs
edit tests/integration/main.rs tests/integration/at.rs
add tests/integration/restarts.rs tests/integration/support.rs
edit config/samples/cnat_v1alpha1_at.yaml README.md
kbr manifests
