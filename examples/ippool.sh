# IPPool: addresses for claims, none of them twice.
kbr init --project-name tsi-controller --domain tiduyun.com --repo git.tiduyun.com/tsi-controller
kbr create api --group tsi --version v1alpha1 --kind IPPool --namespaced=false --resource --controller
kbr create api --group tsi --version v1alpha1 --kind IPClaim --resource --controller
kbr create api --group tsi --version v1alpha1 --kind IPAllocation --namespaced=false --resource --controller
edit api/src/tsi/v1alpha1/ippool.rs api/src/tsi/v1alpha1/ipclaim.rs api/src/tsi/v1alpha1/ipallocation.rs
edit src/controllers/ippool.rs src/controllers/ipclaim.rs src/controllers/ipallocation.rs
edit src/main.rs
add src/addresses.rs src/reservations.rs src/tests.rs
edit tests/integration/ippool.rs tests/integration/ipclaim.rs tests/integration/ipallocation.rs tests/integration/main.rs
add tests/integration/pools.rs tests/integration/third_party.rs
edit config/samples/tsi_v1alpha1_ippool.yaml config/samples/tsi_v1alpha1_ipclaim.yaml
edit config/samples/tsi_v1alpha1_ipallocation.yaml config/samples/kustomization.yaml
edit README.md
kbr manifests
