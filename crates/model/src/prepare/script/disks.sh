
# The serial number or world-wide name of a disk, without blanks and in small letters.
id_of() {
    local what=$1 name=$2 file is=""
    if [ "$what" = serial ]; then
        for file in "/sys/block/$name/device/serial" "/sys/block/$name/serial"; do
            if [ -z "$is" ] && [ -r "$file" ]; then is=$(tr -d '[:space:]' <"$file"); fi
        done
        if [ -z "$is" ]; then
            is=$(lsblk --nodeps --noheadings --output SERIAL "/dev/$name" 2>/dev/null | tr -d '[:space:]') || is=""
        fi
    else
        is=$(lsblk --nodeps --noheadings --output WWN "/dev/$name" 2>/dev/null | tr -d '[:space:]') || is=""
        if [ -z "$is" ] && [ -r "/sys/block/$name/wwid" ]; then is=$(tr -d '[:space:]' <"/sys/block/$name/wwid"); fi
        is=${is#0x}
        is=${is#naa.}
        is=${is#eui.}
    fi
    printf '%s' "${is,,}"
}

# The disk of a serial number or world-wide name. Kernel names change between boots, so none is used.
disk_of() {
    local what=$1 wanted=$2 found="" path name
    for path in /sys/block/*; do
        name=${path##*/}
        case $name in loop* | ram* | zram* | md* | dm-* | sr* | nvme*c*n*) continue ;; esac
        if [ "$(id_of "$what" "$name")" = "$wanted" ]; then
            if [ -n "$found" ]; then die "two disks have $what $wanted: $found and $name"; fi
            found=$name
        fi
    done
    if [ -z "$found" ]; then die "no disk here has $what $wanted"; fi
    printf '/dev/%s' "$found"
}

# Ends the script unless nothing is on a device and nobody uses it.
must_be_free() {
    local device name end
    device=$(readlink -f "$1")
    name=${device##*/}
    if [ ! -b "$device" ]; then die "$1 is no block device"; fi
    if [ -e "/sys/class/block/$name/partition" ]; then die "$device is a partition"; fi
    if [ "$(cat "/sys/class/block/$name/ro")" != 0 ]; then die "$device takes no writes"; fi
    if [ "$(cat "/sys/class/block/$name/removable" 2>/dev/null || echo 0)" != 0 ]; then
        die "$device has a medium that can be taken out"
    fi
    if [ -n "$(ls -A "/sys/class/block/$name/holders")" ]; then
        die "$device is part of $(ls "/sys/class/block/$name/holders")"
    fi
    if [ "$(lsblk --noheadings --raw --output NAME "$device" | wc -l)" -ne 1 ]; then
        die "$device has partitions, or something is built on it: lsblk $device"
    fi
    if [ -n "$(lsblk --noheadings --output MOUNTPOINT "$device" | tr -d '[:space:]')" ]; then
        die "$device is mounted, or is swap space in use"
    fi
    if [ -n "$(wipefs --no-act --noheadings "$device")" ]; then
        die "$device holds data: $(wipefs --no-act --noheadings "$device" | tr '\n' ' ')"
    fi
    for end in head tail; do
        if [ "$("$end" --bytes=1M "$device" | tr -d '\000' | wc -c)" -ne 0 ]; then
            die "$device holds data of no known kind: its $end is not empty"
        fi
    done
}

# Zeros over both ends of something that was just made, where remains of what was there before would show.
clear_ends() {
    local size
    size=$(blockdev --getsize64 "$1")
    dd if=/dev/zero of="$1" bs=1M count=1 conv=fsync status=none
    dd if=/dev/zero of="$1" bs=1M count=1 oflag=seek_bytes seek=$((size - 1048576)) conv=fsync status=none
}
