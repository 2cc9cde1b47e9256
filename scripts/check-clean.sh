#!/usr/bin/env bash
# Fails when tests left anything on this machine: loop devices, mounts, cgroups, limits, files.
#
# With a file name, only what is not listed in it counts: `check-clean.sh --list >before` first, so
# that another run's things on a shared machine are not taken for ours. Our names carry the process
# they belong to: as long as that lives, they are in use.
set -euo pipefail

# Passes on the lines that belong to no living process.
orphans() {
    local line pid
    while IFS= read -r line; do
        pid=$(sed -nE 's/.*iobound-([a-z]+-)?([0-9]+)-.*/\2/p' <<<"$line")
        if [ -z "$pid" ] || ! [ -d "/proc/$pid" ]; then
            printf '%s\n' "$line"
        fi
    done
}

list() {
    local tmp=${TMPDIR:-/tmp}
    losetup --list --noheadings --output NAME,BACK-FILE 2>/dev/null | grep iobound | sed 's/^/loop device /' || true
    awk '$5 ~ /iobound/ { print "mount " $5 }' /proc/self/mountinfo
    find /sys/fs/cgroup -maxdepth 2 -type d -name 'iobound*' -printf 'cgroup %p\n' 2>/dev/null || true
    find "$tmp" -maxdepth 1 -name 'iobound*' -printf 'file %p\n' 2>/dev/null || true
    # A limit of the root group outlives its device.
    grep -Hs '^7:' /sys/fs/cgroup/blkio/blkio.throttle.*_device | sed 's/^/limit /' || true
    for device in /sys/block/loop*; do
        if ! [ -e "$device/loop" ] && [ "$(cat "$device/ro" 2>/dev/null)" = 1 ]; then
            echo "read-only mark ${device##*/}"
        fi
    done
}

if [ "${1-}" = --list ]; then
    list | sort
    exit 0
fi

before=${1:-/dev/null}
# The kernel detaches a loop device a moment after its last user is gone.
for _ in 1 2 3 4 5 6 7 8 9 10; do
    left=$(list | orphans | sort | comm -13 "$before" -)
    [ -z "$left" ] && break
    sleep 0.5
done
if [ -n "$left" ]; then
    printf 'left behind by the tests:\n%s\n' "$left" >&2
    exit 1
fi
echo "nothing left behind"
