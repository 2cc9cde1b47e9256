#!/usr/bin/env bash
# Proves that a fresh Debian needs nothing but a Rust toolchain and this repository:
#
#     scripts/prove-clean-install.sh [SUITE] [COMMAND..]     as root; SUITE: bookworm (default), trixie, ..
#
# Makes a minimal Debian below the temporary directory with debootstrap, binds this machine's Rust
# toolchain into it read-only, copies the repository as git knows it, and runs there
# scripts/install-test-deps.sh twice (the second time it must find nothing to do) and `make build`;
# or COMMAND, for example `make test`. All in mount and process namespaces of its own, so that
# whatever happens nothing stays mounted; the directory is removed at the end.
#
# MIRROR names the Debian mirror; CARGO_HOME and RUSTUP_HOME where the toolchain is.
set -euo pipefail

suite=${1:-bookworm}
[ $# -gt 0 ] && shift
repository=$(cd "$(dirname "$0")/.." && pwd)
mirror=${MIRROR:-}
cargo_home=${CARGO_HOME:-$HOME/.cargo}
rustup_home=${RUSTUP_HOME:-$HOME/.rustup}

if [ "$(id -u)" -ne 0 ]; then
    echo "prove-clean-install: needs root (debootstrap, chroot)" >&2
    exit 2
fi
for program in debootstrap unshare git; do
    if ! command -v "$program" >/dev/null; then
        echo "prove-clean-install: $program is missing; apt-get install debootstrap util-linux git" >&2
        exit 2
    fi
done
if ! [ -d "$rustup_home/toolchains" ]; then
    echo "prove-clean-install: no Rust toolchain in $rustup_home; set RUSTUP_HOME" >&2
    exit 2
fi

if [ -z "$mirror" ]; then
    # The mirror that this machine's own apt uses, if it is a Debian.
    # shellcheck disable=SC2016  # apt's own variable
    mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | grep -m1 'debian$' || true)
    mirror=${mirror:-http://deb.debian.org/debian}
fi

# In namespaces of its own: all mounts go when the last process in there does, and none is seen
# outside.
if [ "${IOBOUND_PROOF_INSIDE:-}" != yes ]; then
    root=$(mktemp -d "${TMPDIR:-/tmp}/iobound-proof-XXXXXX")
    trap 'rm -rf --one-file-system "$root"' EXIT
    export IOBOUND_PROOF_INSIDE=yes IOBOUND_PROOF_ROOT="$root"
    status=0
    unshare --mount --pid --fork --kill-child --propagation private "$0" "$suite" "$@" || status=$?
    if [ "$status" -eq 0 ]; then
        echo "proof: a clean Debian $suite: ok"
    else
        echo "proof: a clean Debian $suite: FAILED" >&2
    fi
    exit "$status"
fi

root=$IOBOUND_PROOF_ROOT
say() { echo "proof: $*"; }

say "debootstrap $suite"
debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$mirror" >"$root.log" 2>&1 || {
    tail -20 "$root.log" >&2
    rm -f "$root.log"
    exit 1
}
rm -f "$root.log"

mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mkdir -p "$root/opt/rustup" "$root/opt/cargo/bin"
mount --bind "$rustup_home" "$root/opt/rustup"
mount -o remount,bind,ro "$root/opt/rustup"
mount --bind "$cargo_home/bin" "$root/opt/cargo/bin"
mount -o remount,bind,ro "$root/opt/cargo/bin"
# How this machine reaches package mirrors and registries is the machine's matter, not a step.
cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
cp /etc/hosts "$root/etc/hosts" 2>/dev/null || true
cp /etc/apt/apt.conf.d/*prox* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
if [ -e "$cargo_home/config.toml" ]; then
    cp "$cargo_home/config.toml" "$root/opt/cargo/config.toml"
fi
if [ -d /usr/local/share/ca-certificates ]; then
    cp -r /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/"
    chroot "$root" update-ca-certificates >/dev/null 2>&1 || true
fi

# What a clone would hold, with what is not committed yet.
mkdir -p "$root/src"
(cd "$repository" && git ls-files -z --cached --others --exclude-standard |
    tar --create --null --ignore-failed-read --files-from=- 2>/dev/null) |
    tar --extract --directory "$root/src"

inside() {
    chroot "$root" env -i HOME=/root LANG=C.UTF-8 \
        PATH=/opt/cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        CARGO_HOME=/opt/cargo RUSTUP_HOME=/opt/rustup \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
        ${HTTPS_PROXY:+HTTPS_PROXY="$HTTPS_PROXY"} ${no_proxy:+no_proxy="$no_proxy"} \
        ${CI:+CI="$CI"} \
        sh -c 'cd /src && exec "$@"' sh "$@"
}

say "scripts/install-test-deps.sh"
inside scripts/install-test-deps.sh
again=$(inside scripts/install-test-deps.sh)
case $again in
*"all there"*) say "a second time: nothing to do" ;;
*)
    say "a second time it still found something to do: $again" >&2
    exit 1
    ;;
esac
if [ $# -eq 0 ]; then
    set -- make build
fi
say "$*"
inside "$@"
