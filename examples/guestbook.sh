# Guestbook: webhooks, configuration of the operator, and the scale subresource.
kbr init --project-name guestbook --domain my.domain
kbr create api --group webapp --version v1 --kind Guestbook --resource --controller
kbr create webhook --group webapp --version v1 --kind Guestbook --defaulting --programmatic-validation
edit api/src/webapp/v1/guestbook.rs
edit src/main.rs src/controllers/guestbook.rs src/webhooks/mod.rs src/webhooks/webapp_v1_guestbook.rs
add src/images.rs src/controllers/guestbook/children.rs src/controllers/guestbook/tests.rs
edit tests/integration/main.rs tests/integration/guestbook.rs
add tests/integration/webhooks.rs tests/integration/autoscaler.rs tests/integration/pod_metrics.yaml
edit config/samples/kustomization.yaml config/samples/webapp_v1_guestbook.yaml README.md
add config/samples/autoscaler.yaml
kbr manifests
