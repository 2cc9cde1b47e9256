#!/usr/bin/env bash
# Builds the wheel, installs it into a clean virtual environment, and tests what is installed there: the
# suite from outside the source tree, the stubs, the program beside `python`. Leaves nothing behind.
#
#   scripts/test-python.sh                  with python3 and cargo's dev profile
#   PYTHON=python3.9 scripts/test-python.sh
#   PROFILE=release scripts/test-python.sh
#
# Without Python 3.9 or later with venv, or without a package index, it says SKIPPED and why; with CI=true
# it fails instead.
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD
python=${PYTHON:-python3}

skip() {
    echo "SKIPPED the Python package: $1"
    [ "${CI:-}" != true ] || exit 1
    exit 0
}

command -v "$python" >/dev/null || skip "there is no $python"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || skip "$python is older than 3.9"
"$python" -c 'import venv, ensurepip' 2>/dev/null || skip "$python has no venv: install python3-venv"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/venv"
bin=$work/venv/bin
pip=("$bin/python" -m pip --quiet --disable-pip-version-check)
"${pip[@]}" install --requirement python/tests/requirements.txt ||
    skip "the programs of its tests cannot be installed; is there a network?"

MATURIN_PEP517_ARGS="--profile ${PROFILE:-dev}" "${pip[@]}" wheel . --no-deps --wheel-dir "$work/wheel"
"${pip[@]}" install --no-deps "$work"/wheel/iobound-*.whl

# Nothing of the source tree is in reach, so that only what is in the wheel can pass.
cp -r python/tests "$work/tests"
cd "$work"
"$bin/iobound" --version
IOBOUND_SOURCE=$source "$bin/python" -m pytest -q -p no:cacheprovider --basetemp "$work/scratch" tests
export MYPY_CACHE_DIR=$work/mypy-cache
"$bin/mypy" --strict -p iobound
(cd tests && "$bin/mypy" --strict .)
"$bin/stubtest" iobound
# What was installed goes again.
"${pip[@]}" uninstall --yes iobound
[ ! -e "$bin/iobound" ] || { echo "the program is left behind after uninstalling" >&2; exit 1; }
cd "$source"
echo "test-python: ok with $("$bin/python" --version)"
