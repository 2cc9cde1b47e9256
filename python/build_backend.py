"""Builds the wheel: maturin's hooks, and the `iobound` program beside the module.

The program runs itself again in other roles, so the wheel carries the program itself and no script
that would start it. Both are built with the profile of maturin's arguments, release unless told
otherwise:

    MATURIN_PEP517_ARGS="--profile dev" pip install .
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import maturin
from maturin import (  # noqa: F401  hooks that need nothing of ours
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

ROOT = Path(__file__).resolve().parent.parent
# pyproject.toml names it as maturin's `data`: what is in `scripts` is installed to where `python` is.
SCRIPTS = ROOT / "target/wheel-data/scripts"
# maturin wants it to be there whatever it is asked, also for metadata alone.
SCRIPTS.mkdir(parents=True, exist_ok=True)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    put_program(config_settings)
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    put_program(config_settings)
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def put_program(config_settings):
    """Builds the program and puts it where maturin takes it from."""
    # With the module's package selected too, both are built of the same dependencies, once.
    command = ["cargo", "build", "--package", "iobound", "--package", "iobound-python", "--bin", "iobound"]
    command += ["--profile", profile_of(config_settings)]
    command += ["--message-format", "json-render-diagnostics"]
    print("Running `" + shlex.join(command) + "`", file=sys.stderr)
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit("iobound: cargo could not build the program; its words are above")
    built = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    programs = [one["executable"] for one in built if one.get("executable")]
    shutil.rmtree(SCRIPTS, ignore_errors=True)
    SCRIPTS.mkdir(parents=True)
    shutil.copy(programs[-1], SCRIPTS / "iobound")


def profile_of(config_settings):
    """The cargo profile that maturin is told, in either of the ways it can be."""
    said = (config_settings or {}).get("build-args") or os.environ.get("MATURIN_PEP517_ARGS", "")
    words = shlex.split(said) if isinstance(said, str) else list(said)
    for word, following in zip(words, [*words[1:], ""]):
        if word == "--profile":
            return following
        if word.startswith("--profile="):
            return word.split("=", 1)[1]
    return "release"
