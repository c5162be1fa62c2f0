# Home: two versions of a kind, with conversion between them.
kbr init --project-name home --repo myk8soperator
printf 'y\ny\n' | kbr create api --group ajd --version v1 --kind Home
kbr create webhook --group ajd --version v1 --kind Home --defaulting --programmatic-validation

# Later, the second version.
kbr create api --group ajd --version v2 --kind Home --resource --controller=false
kbr create webhook --group ajd --version v2 --kind Home --conversion --spoke v1

edit api/src/ajd/v1/home.rs api/src/ajd/v1/home_conversion.rs api/src/ajd/v2/home.rs
edit src/controllers/home.rs src/webhooks/ajd_v1_home.rs src/webhooks/ajd_v2_home.rs
add src/controllers/home/tests.rs
edit tests/integration/main.rs tests/integration/home.rs
add tests/integration/local.rs tests/integration/versions.rs tests/integration/webhooks.rs
edit Cargo.toml
add tests/storage/main.rs
edit config/samples/ajd_v1_home.yaml config/samples/ajd_v2_home.yaml README.md
kbr manifests
