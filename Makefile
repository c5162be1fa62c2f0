# Targets for developers of kbr. `make` alone lists them.

.DEFAULT_GOAL := help
.PHONY: help build static check lint count deny test test-release images soak bench demo book book-check pictures control-plane bubblewrap libfaketime promtool prometheus chromium buildah freeze pin bump-kubernetes update lock

help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build kbr for release: target/release/kbr
	cargo build --release

static: HOST = $(shell rustc -vV | sed -n 's/^host: //p')
static: ## Build kbr without shared libraries: target/<host>/release/kbr
	RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --bin kbr --target $(HOST)

control-plane: ## Build the programs of a cluster from Go modules, once, into setup-envtest's store
	cargo run --quiet -- envtest build --cluster

lint: ## Check formatting and run clippy
	@cargo fmt --all --check || { echo "help: cargo fmt --all" >&2; exit 1; }
	cargo clippy --workspace --all-targets --all-features -- -D warnings
# kbr-testing without its features. With the other crates and a test that needs the features of above, cargo checks no dependency again.
	cargo clippy --workspace --exclude book --no-default-features --features kbr/faults --lib --test tidy --test fake -- -D warnings

count: ## Count the lines and files of Rust without tests, by crate
	@tests/count

deny: target/tools/bin/cargo-deny ## Check the licenses, versions and sources of all dependencies
	target/tools/bin/cargo-deny check licenses bans sources

target/tools/bin/cargo-deny:
	cargo install --root target/tools --locked cargo-deny@0.20.2

bubblewrap: ## Install bubblewrap, the sandbox of `kbr plan`, unless it is installed
	@command -v bwrap >/dev/null \
	  || { apt-get update --quiet && apt-get install --yes --quiet --no-install-recommends bubblewrap; } \
	  || { echo "help: install bubblewrap, as root or with your system's packages" >&2; exit 1; }

libfaketime: ## Install libfaketime, which tests use to set clocks, unless it is installed
	@[ -n "$(wildcard /usr/lib/faketime/libfaketime.so.1 /usr/lib/*/faketime/libfaketime.so.1)" ] \
	  || { apt-get update --quiet && apt-get install --yes --quiet libfaketime; } \
	  || { echo "help: install libfaketime, as root or with your system's packages" >&2; exit 1; }

promtool: ## Install promtool, which tests alerts, unless it is installed
prometheus: ## Install Prometheus, which scrapes the operator of the pictures, unless it is installed
# Without the rest of Debian's package, which starts a server.
promtool prometheus:
	@command -v $@ >/dev/null \
	  || { apt-get update --quiet && apt-get download --quiet prometheus \
	    && dpkg --fsys-tarfile prometheus_*.deb | tar --extract --directory /usr/local --strip-components 2 ./usr/bin/$@ \
	    && rm prometheus_*.deb; } \
	  || { echo "help: install $@, as root or with your system's packages" >&2; exit 1; }

check: ## Run what needs no API server and compiles no project, after each change
	tests/run check

test: bubblewrap libfaketime promtool ## Run the tests, as CI does: docs/contributing.md says how long they take
	tests/run

test-release: bubblewrap libfaketime promtool ## Run these tests and those that take too long for every change, before a release: about 2 hours
	KBR_TESTS=release tests/run
	tests/package/release
	cargo run --quiet --workspace --all-features --example crds -- sample
	tests/kubebuilder/run
	$(MAKE) book-check
	$(MAKE) images

buildah: ## Install buildah and mmdebstrap, which build images without a daemon, unless they are installed
	@command -v buildah >/dev/null && command -v mmdebstrap >/dev/null \
	  || { apt-get update --quiet && apt-get install --yes --quiet --no-install-recommends buildah mmdebstrap; } \
	  || { echo "help: install buildah and mmdebstrap, as root or with your system's packages" >&2; exit 1; }

images: buildah control-plane ## Build the examples' images, and run the operators from them on a cluster
	PATH="$(CURDIR)/target/debug:$$PATH" tests/images/run

soak: control-plane libfaketime ## Run the long fault tests, and the tests with cert-manager itself
	KBR_RANDOM_TYPES=5000 KBR_RANDOM_SEED=10000 cargo test --workspace --all-features --test lint random -- --nocapture
	KBR_KILL_ROUNDS=1500 KBR_FAULT_STRIDE=1 KBR_UPGRADE_STRIDE=1 cargo test --workspace --all-features --test faults -- --nocapture
	KBR_FAULTS=long cargo test --workspace --all-features --test processes
	KBR_FUZZ_SECONDS=600 cargo test --workspace --all-features --bins --lib fuzz::
	KBR_FUZZ_ROUNDS=100000 cargo test -p kbr-manager --all-features --test hostile
	KBR_SIMULATE=90m cargo test --workspace --all-features --test catalogue anvil -- --nocapture
	IPPOOL_ROUNDS=100 cargo test --all-features --test projects ippool
	cargo run --quiet --workspace --all-features --example crds -- all
	cargo run --quiet --workspace --all-features --example crds -- manifests
	tests/certmanager/run
	tests/handover/run

bench: control-plane ## Measure kbr and a generated operator, without pass or fail
	tests/bench/run
	tests/bench/operator
	tests/bench/admission
	tests/bench/simulate

freeze: ## Archive the release of this checkout for later versions of kbr: releases/<version>.tar.gz
	releases/freeze

pin: ## Pin the actions and images of kbr's and generated workflows to the newest commits and digests of their versions
	releases/pin

demo: ## Scaffold an operator and watch it reconcile on a real API server
	demo/run

pictures: control-plane prometheus bubblewrap ## Draw the pictures of the docs again, from runs of `kbr plan` and `kbr dev`
	cargo build --quiet --workspace --all-features --bin kbr --example releases
	cargo run --quiet --example pictures -- target/debug/kbr

book: target/tools/bin/mdbook target/tools/bin/mdbook-mermaid ## Build the book as a site: target/book/index.html
	PATH="$(CURDIR)/target/tools/bin:$$PATH" docs/build

book-check: book chromium ## Open each page of the book in a browser, follow its links, and look whether it fits a phone
	cargo test --workspace --all-features --test site -- --ignored

target/tools/bin/mdbook:
	cargo install --root target/tools --locked mdbook@0.5.4

target/tools/bin/mdbook-mermaid:
	cargo install --root target/tools --locked mdbook-mermaid@0.17.1

chromium: ## Install Chromium, which opens the book in a test, unless it is installed
	@command -v chromium >/dev/null \
	  || { apt-get update --quiet && apt-get install --yes --quiet --no-install-recommends chromium; } \
	  || { echo "help: install chromium, as root or with your system's packages" >&2; exit 1; }

bump-kubernetes: ## Build another version of Kubernetes, and name it everywhere: VERSION=1.2.3
	releases/bump-kubernetes '$(VERSION)'

update: ## Update golden files, generated docs, the timeline in the docs, the table of built-in kinds and the library's manifest
	UPDATE=1 cargo test -p kbr-scaffold --lib the_table_of_built_in_kinds_equals_k8s_openapi
	UPDATE=1 cargo test -p kbr-manifests --lib the_tables_of_the_lint_page_are_generated
	UPDATE=1 cargo test -p kbr-testing --all-features --test catalogue the_picture_of_the_page_is_the_timeline_of_its_bug
	UPDATE=1 cargo test --all-features --test golden --test docs --test package

lock: ## Update the Cargo.lock of new projects after changing the dependencies in scaffolds/
	rm -rf target/reference
	cargo run --quiet -- init --directory target/reference --project-name kbr-reference --domain example.com --yes
	cd target/reference && cargo metadata --format-version 1 >/dev/null
	cp target/reference/Cargo.lock scaffolds/Cargo.lock
