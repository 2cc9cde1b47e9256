#!/usr/bin/env bash
# Fuzzes every parser of outside text for a while: scripts/fuzz.sh [SECONDS for each target]
#
# With a nightly toolchain and cargo-fuzz it searches with coverage. Without, it runs the tests that
# drive the same bodies with random text, so that there is always something to run.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-30}

if [ -d fuzz ] && cargo +nightly --version >/dev/null 2>&1 && command -v cargo-fuzz >/dev/null; then
    cargo +nightly fuzz list | while IFS= read -r target; do
        echo "fuzz: $target for $seconds s"
        cargo +nightly fuzz run "$target" -- -max_total_time="$seconds" -max_len=16384
    done
    exit 0
fi
echo "fuzz: no nightly toolchain with cargo-fuzz (rustup toolchain install nightly; cargo install cargo-fuzz)"
echo "fuzz: running the same bodies with random text by proptest instead"
export PROPTEST_CASES=${PROPTEST_CASES:-20000}
cargo test --package iobound-jobfile --test fuzz
cargo test --package iobound --lib fuzz_bodies
PROPTEST_CASES=${PROPTEST_CASES:-20000} cargo test --test fuzz --package iobound-jobfile --package iobound-host
