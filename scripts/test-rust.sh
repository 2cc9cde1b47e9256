#!/usr/bin/env bash
# Runs every Rust test of the workspace. A test that fails runs once more, by itself: these tests drive real
# devices in real time, and a machine that stood still for a second is no fault of the program. One that then
# passes is printed as FLAKY and wants to be looked at; one that fails again, or a test program that ends
# without a list of what failed, fails the run. More than five are no accident and get no second chance.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
most=5

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if "$cargo" test --workspace --no-fail-fast 2>&1 | tee "$log"; then
    exit 0
fi

# A line for each target that failed: cargo's options for it, then the names that it listed as failed.
failed=$(awk '
    /^failures:$/ { names = ""; listing = 1; next }
    listing && /^    [^ ]+$/ { names = names " " $1; next }
    /^test result: / { listing = 0 }
    /^error: (doc)?test failed, to rerun pass `/ {
        split($0, parts, "`")
        print parts[2] "|" names
        names = ""
    }' "$log")
count=$(awk -F'|' '{ total += split($2, names, " ") } END { print total + 0 }' <<<"$failed")
if [ "$count" -eq 0 ] || [ "$count" -gt "$most" ] || grep -q '|$' <<<"$failed"; then
    exit 1
fi

while IFS='|' read -r target names; do
    # "-p PACKAGE --test NAME": of the whole workspace too, or cargo would choose other features, and compile
    # everything below anew.
    read -ra options <<<"--workspace ${target#-p * }"
    read -ra tests <<<"$names"
    echo "again, by itself: $target:$names"
    "$cargo" test "${options[@]}" -- --exact "${tests[@]}" --test-threads 1 </dev/null 2>&1 | tee "$log"
    # A name that no longer finds its test must not pass for it.
    passed=$(awk '/^test result: / { sum += $4 } END { print sum + 0 }' "$log")
    [ "$passed" -ge "${#tests[@]}" ] || { echo "only $passed of ${#tests[@]} ran again" >&2; exit 1; }
    echo "FLAKY: failed once and passed by itself: $target:$names"
done <<<"$failed"
