# What a person or CI runs. `make test` does all of its own set-up on Debian and Ubuntu.

CARGO ?= cargo
BUILT := $(or $(CARGO_TARGET_DIR),target)
SCRIPTS := $(wildcard scripts/*.sh) .ci/run

.PHONY: build test lint bench fuzz clean

build:
	$(CARGO) build --release

# A test that needs root, a loop device or a program it lacks says SKIPPED and why; with CI=true it
# fails instead. Test threads share two things that matter, the disk and the processors, so tests
# that measure time take turns among themselves. A failure does not hide those that come after it.
test: lint
	scripts/test-rust.sh
	scripts/test-python.sh
	$(BUILT)/debug/iobound-lab reap
	@echo "make test: all passed"

# Cheap checks first. The house rules are a test of the lab, so they run with the others as well. Always the
# whole workspace: for a package alone cargo would choose other features, and compile its dependencies twice.
lint:
	scripts/install-test-deps.sh
	$(CARGO) fmt --check
	@if command -v shellcheck >/dev/null; then shellcheck $(SCRIPTS); \
	else echo "SKIPPED shellcheck: not installed"; [ "$$CI" != true ]; fi
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) test --quiet --workspace --test house

# Writes docs/PERFORMANCE.md from a run on this machine; takes about 40 minutes.
bench: build
	$(CARGO) build --release --package iobound-lab
	python3 scripts/bench.py

fuzz:
	scripts/fuzz.sh

clean:
	$(CARGO) clean
