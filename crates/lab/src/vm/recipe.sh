#!/bin/sh
# Builds the root of the lab's virtual machine: recipe.sh MIRROR DIRECTORY
#
# Leaves in DIRECTORY: root.img (ext4), kernel. Part of the image's key: any change here makes a
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
        mdadm lvm2 dmsetup e2fsprogs xfsprogs fdisk fio lz4 | tr ' ' ,)" \
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
        systemd-ask-password-wall.path systemd-remount-fs.service sys-kernel-debug.mount \
        systemd-pcrphase.service systemd-pcrphase-sysinit.service; do
        ln -sf /dev/null "$root/etc/systemd/system/$unit"
    done
}

# At boot udev is told of disks and of the agent's port alone. What else there is (processors, buses,
# terminals) has nothing to be set up here, and telling of it took a third of the boot. Devices that come
# later are told of as on any machine.
narrow_coldplug() {
    directory_of_unit=$root/etc/systemd/system/systemd-udev-trigger.service.d
    mkdir -p "$directory_of_unit"
    cat >"$directory_of_unit/lab.conf" <<'END'
[Service]
ExecStart=
ExecStart=-udevadm trigger --action=add --subsystem-match=block --subsystem-match=virtio-ports
END
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
    for packed in "$root"/boot/vmlinuz-*; do unpack_kernel "$packed"; done
}

# QEMU starts an unpacked kernel directly (PVH): a translated guest takes a second to unpack it, each time.
# Places in the packed one: Documentation/arch/x86/boot.rst, setup_sects, payload_offset, payload_length.
unpack_kernel() {
    sectors=$(od -An -tu1 -j497 -N1 "$1" | tr -d ' ')
    offset=$(od -An -tu4 -j584 -N4 "$1" | tr -d ' ')
    length=$(od -An -tu4 -j588 -N4 "$1" | tr -d ' ')
    tail -c "+$(((sectors + 1) * 512 + offset + 1))" "$1" | head -c "$length" |
        chroot "$root" lz4 -dc 2>/dev/null >"$directory/kernel" || true
    # Packed in another way, it unpacks itself.
    if [ "$(head -c 4 "$directory/kernel" | tail -c 3)" != ELF ]; then
        say "the kernel stays packed"
        cp -L "$1" "$directory/kernel"
    fi
}

say "installing Debian bookworm and its kernel from $mirror (about a minute)"
[ -n "${IOBOUND_LAB_ROOT_READY:-}" ] || install_packages
say "configuring"
mask_units
mask_generators
narrow_coldplug
configure
install_agent
say "making the image"
make_image
rm -rf "$root"
