#!/usr/bin/env bash
# Installs what the tests drive as programs, on Debian and Ubuntu. Does nothing when all is there.
#
# As somebody else than root it prints what is missing and how to install it, and succeeds: tests
# that miss a program skip and say so (with CI=true they fail instead).
set -euo pipefail

# program:package. What the tests use each for:
#   fio                       side-by-side measurements
#   mkfs.*, mount, losetup    the lab's volumes
#   lz4, zstd                 the fill's ratios, as real tools see them
#   mdadm, lvm, sfdisk        arrays below a target, partition tables and signatures
#   qemu-storage-daemon       a drive whose power can be cut
#   tmux                      what a person sees on a terminal
#   qemu, qemu-img            the lab's virtual machine
#   debootstrap               its image
#   python3, its venv         the Python package, into a clean environment
#   openssl                   certificates of the S3 server
#   cc, ld                    linking; a program without io_uring
needed=(
    fio:fio
    mkfs.xfs:xfsprogs
    mkfs.ext4:e2fsprogs
    mkfs.btrfs:btrfs-progs
    mkfs.vfat:dosfstools
    lz4:lz4
    zstd:zstd
    losetup:mount
    sfdisk:fdisk
    mount:mount
    setpriv:util-linux
    partx:util-linux
    unshare:util-linux
    taskset:util-linux
    prlimit:util-linux
    mdadm:mdadm
    lvm:lvm2
    qemu-storage-daemon:qemu-system-common
    tmux:tmux
    qemu-system-x86_64:qemu-system-x86
    qemu-img:qemu-utils
    debootstrap:debootstrap
    shellcheck:shellcheck
    git:git
    make:make
    python3:python3
    openssl:openssl
    cc:gcc
)

# Programs of administrators are not in everybody's PATH.
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

declare -A missing=()
for entry in "${needed[@]}"; do
    command -v "${entry%%:*}" >/dev/null || missing[${entry##*:}]=1
done
# gcc without the C library's headers links nothing.
if ! [ -e /usr/include/stdio.h ]; then
    missing[libc6-dev]=1
fi

# Debian's python3 makes no virtual environments by itself.
if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
    missing[python3-venv]=1
fi

if [ "${#missing[@]}" -eq 0 ]; then
    echo "test dependencies: all there"
    exit 0
fi
mapfile -t packages < <(printf '%s\n' "${!missing[@]}" | sort)
install="apt-get install -y --no-install-recommends ${packages[*]}"

if [ "$(id -u)" -ne 0 ]; then
    echo "test dependencies: missing ${packages[*]}"
    echo "  install them with:  sudo $install"
    echo "  tests that need them will skip; those that need root (loop devices, cgroups) skip too"
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "test dependencies: missing ${packages[*]} (named as Debian names them), and there is no apt-get" >&2
    echo "  install them with this system's package manager and run this again" >&2
    exit 1
fi

echo "test dependencies: installing ${packages[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
$install -qq >/dev/null
echo "test dependencies: installed"
