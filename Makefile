# What a developer of kbr types. `make` alone lists it.

.DEFAULT_GOAL := help
.PHONY: help build lint test test-release soak bench demo control-plane libfaketime freeze update lock

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build kbr for release: target/release/kbr
	cargo build --release

control-plane: ## Build etcd, kube-apiserver and kubectl from Go modules, once, into setup-envtest's store
	cargo run --quiet -- envtest build

lint: ## Check the form of kbr and of its library
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features -- -D warnings

libfaketime: ## Install libfaketime, which sets the clock of a test's processes, if it is not there
	@[ -n "$(wildcard /usr/lib/faketime/libfaketime.so.1 /usr/lib/*/faketime/libfaketime.so.1)" ] \
	  || { apt-get update --quiet && apt-get install --yes --quiet libfaketime; } \
	  || { echo "help: install libfaketime, as root or with your system's packages" >&2; exit 1; }

test: libfaketime ## Run the tests: 20 minutes on two cores, 30 from empty caches
	tests/run

test-release: libfaketime ## Run these tests and those that take too long for every change, before a release
	KBR_TESTS=release tests/run
	tests/package/release

soak: control-plane libfaketime ## Run the long form of the tests of faults, and cert-manager itself
	KBR_RANDOM_TYPES=5000 KBR_RANDOM_SEED=10000 cargo test --workspace --all-features --test lint random -- --nocapture
	KBR_KILL_ROUNDS=1500 KBR_FAULT_STRIDE=1 cargo test --workspace --all-features --test faults -- --nocapture
	KBR_FAULTS=long cargo test --workspace --all-features --test processes
	tests/certmanager/run

bench: control-plane ## Measure kbr and a generated operator; prints figures and judges none
	tests/bench/run
	tests/bench/operator
	tests/bench/admission

freeze: ## Keep what the release of this checkout writes, for every later kbr: releases/<version>.tar.gz
	releases/freeze

demo: ## Scaffold an operator and watch it reconcile on a real API server
	demo/run

update: ## Record golden files, docs and the manifest of the library as they are now
	UPDATE=1 cargo test --all-features --test golden --test docs --test package

lock: ## Resolve the Cargo.lock of projects anew, after a change of the dependencies in scaffolds/
	rm -rf target/reference
	cargo run --quiet -- init --directory target/reference --project-name kbr-reference --domain example.com --yes
	cd target/reference && cargo metadata --format-version 1 >/dev/null
	cp target/reference/Cargo.lock scaffolds/Cargo.lock
