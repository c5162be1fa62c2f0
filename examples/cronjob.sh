# CronJob: the tutorial of kubebuilder's book.
kbr init --project-name cronjob --domain tutorial.kubebuilder.io --repo github.com/example/cronjob
kbr create api --group batch --version v1 --kind CronJob --resource --controller
kbr create webhook --group batch --version v1 --kind CronJob --defaulting --programmatic-validation
edit api/src/batch/v1/cronjob.rs config/samples/batch_v1_cronjob.yaml
edit src/controllers/cronjob.rs src/controllers/mod.rs src/webhooks/batch_v1_cronjob.rs src/main.rs tests/integration/cronjob.rs
add src/controllers/jobs.rs src/controllers/cronjob/tests.rs src/schedule.rs
edit Cargo.toml Cargo.lock README.md
kbr manifests
