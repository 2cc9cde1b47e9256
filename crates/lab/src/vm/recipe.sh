#!/bin/sh
# Builds the root of the lab's virtual machine: recipe.sh MIRROR DIRECTORY
#
# Leaves in DIRECTORY: root.img (ext4), vmlinuz. Part of the image's key: any change here makes a
# new image. Settings come from the kernel's and Debian's own files, so that what a program writes
# into sysctl.d, udev/rules.d, fstab or mdadm.conf works as it does on a server.
set -eu
mirror=$1
directory=$2
agent=$3
root=$directory/root
# Fits the packages (600 MiB) and what a test brings along.
size_gib=4

say() { echo "lab image: $*" >&2; }

# debootstrap passes a proxy of the environment on, but does not ask apt for it.
if [ -z "${http_proxy:-}" ] && command -v apt-config >/dev/null; then
    eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
    [ -z "${http_proxy:-}" ] || export http_proxy
fi

install_packages() {
    # The kernel's drivers for NVMe and ext4 are built in: it boots without an initramfs, and making
    # one would take a quarter of the build.
    INITRD=No debootstrap --variant=minbase --include="$(echo \
        linux-image-cloud-amd64 systemd-sysv udev kmod procps util-linux iproute2 \
        mdadm lvm2 dmsetup e2fsprogs xfsprogs fio | tr ' ' ,)" \
        bookworm "$root" "$mirror" >"$directory/debootstrap.log" 2>&1 || {
        tail -n 20 "$directory/debootstrap.log" >&2
        say "debootstrap from $mirror failed"
        exit 1
    }
}

# Units that a machine which lives for a minute does not need, or that wait for what it has not.
mask_units() {
    for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
        e2scrub_reap.service fstrim.timer mdcheck_start.timer mdcheck_continue.timer \
        mdmonitor.service mdmonitor-oneshot.timer systemd-timesyncd.service getty@tty1.service \
        getty.target serial-getty@ttyS0.service systemd-random-seed.service \
        systemd-update-utmp.service systemd-update-utmp-runlevel.service systemd-pstore.service \
        systemd-logind.service systemd-user-sessions.service systemd-networkd.service \
        networking.service motd-news.timer systemd-binfmt.service modprobe@.service \
        dev-hugepages.mount dev-mqueue.mount sys-kernel-tracing.mount sys-kernel-config.mount \
        sys-fs-fuse-connections.mount proc-sys-fs-binfmt_misc.automount lvm2-monitor.service \
        systemd-sysusers.service systemd-journal-flush.service systemd-update-done.service \
        systemd-tmpfiles-clean.timer systemd-ask-password-console.path \
        systemd-ask-password-wall.path; do
        ln -sf /dev/null "$root/etc/systemd/system/$unit"
    done
}

# Generators that look for what this machine cannot have; each costs a tenth of a second translated.
mask_generators() {
    mkdir -p "$root/etc/systemd/system-generators"
    for generator in systemd-bless-boot-generator systemd-cryptsetup-generator \
        systemd-debug-generator systemd-getty-generator systemd-gpt-auto-generator \
        systemd-hibernate-resume-generator systemd-integritysetup-generator \
        systemd-rc-local-generator systemd-run-generator systemd-system-update-generator \
        systemd-sysv-generator systemd-veritysetup-generator; do
        ln -sf /dev/null "$root/etc/systemd/system-generators/$generator"
    done
}

configure() {
    echo lab >"$root/etc/hostname"
    echo '127.0.0.1 localhost lab' >"$root/etc/hosts"
    echo 1b0bd1ab00000000000000000000001a >"$root/etc/machine-id"
    # The root comes from the kernel's command line.
    echo '# <file system> <mount point> <type> <options> <dump> <pass>' >"$root/etc/fstab"
    mkdir -p "$root/etc/systemd/journald.conf.d" "$root/etc/systemd/system.conf.d"
    printf '[Journal]\nStorage=volatile\n' >"$root/etc/systemd/journald.conf.d/lab.conf"
    # A unit that hangs is found before the test's own time is over.
    printf '[Manager]\nDefaultTimeoutStopSec=10s\n' >"$root/etc/systemd/system.conf.d/lab.conf"
    ln -sf /lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"
    chroot "$root" passwd -d root >/dev/null
    rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* \
        "$root"/usr/share/doc "$root"/usr/share/man "$root"/usr/share/locale
    mkdir -p "$root/usr/share/man" "$root/usr/share/doc"
}

install_agent() {
    install -D -m 755 "$agent" "$root/usr/lib/iobound-lab/agent"
    cat >"$root/etc/systemd/system/iobound-agent.service" <<'END'
[Unit]
Description=Commands of the lab's host
# In an emergency as well: the host asks what went wrong.
DefaultDependencies=no
IgnoreOnIsolate=yes
[Service]
ExecStart=/usr/lib/iobound-lab/agent
Restart=always
# Not killed before what it runs: a command may be the one that reboots.
KillMode=process
Environment=HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
OOMScoreAdjust=-1000
LimitMEMLOCK=infinity
[Install]
WantedBy=sysinit.target
END
    chroot "$root" systemctl --quiet enable iobound-agent.service
    # A shell on the serial console, when the kernel's command line asks for it.
    cat >"$root/etc/systemd/system/iobound-shell.service" <<'END'
[Unit]
Description=A shell on the serial console
ConditionKernelCommandLine=iobound.shell
[Service]
ExecStart=/bin/bash -l
WorkingDirectory=/root
Environment=HOME=/root TERM=vt220
StandardInput=tty-force
StandardOutput=inherit
StandardError=inherit
TTYPath=/dev/ttyS0
TTYReset=yes
ExecStopPost=/bin/systemctl --no-block poweroff
[Install]
WantedBy=multi-user.target
END
    chroot "$root" systemctl --quiet enable iobound-shell.service
}

make_image() {
    truncate -s "${size_gib}G" "$directory/root.img"
    mke2fs -q -t ext4 -L lab -d "$root" -E lazy_itable_init=1,lazy_journal_init=1 "$directory/root.img"
    cp -L "$root"/boot/vmlinuz-* "$directory/vmlinuz"
}

say "installing Debian bookworm and its kernel from $mirror (about a minute)"
[ -n "${IOBOUND_LAB_ROOT_READY:-}" ] || install_packages
say "configuring"
mask_units
mask_generators
configure
install_agent
say "making the image"
make_image
rm -rf "$root"
