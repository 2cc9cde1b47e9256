//! The machine and its kernel.

use iobound_record::Machine;

use crate::system::System;

const CLOCK: &str = "/sys/devices/system/clocksource/clocksource0";

pub(super) fn machine(system: &System) -> Machine {
    let kernel = |name: &str| system.attribute(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
    Machine {
        hostname: kernel("hostname"),
        machine_id: system.attribute("/etc/machine-id").unwrap_or_default(),
        boot_id: kernel("random/boot_id"),
        kernel: kernel("osrelease"),
        architecture: architecture(system),
        distribution: distribution(system),
        product: product(system),
        hypervisor: hypervisor(system),
        container: container(system),
        clocksource: system.attribute(format!("{CLOCK}/current_clocksource")).unwrap_or_default(),
        clocksources: words(system, &format!("{CLOCK}/available_clocksource")),
    }
}

fn words(system: &System, path: &str) -> Vec<String> {
    system.attribute(path).unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect()
}

/// `uname -m`. Kernel 6.1 and later show it in a file; a captured machine may be of another kind than
/// the one we run on.
fn architecture(system: &System) -> String {
    match system.attribute("/proc/sys/kernel/arch") {
        Some(told) => told,
        None if system.is_live() => rustix::system::uname().machine().to_string_lossy().into_owned(),
        None => String::new(),
    }
}

/// os-release(5).
fn distribution(system: &System) -> String {
    let text = system
        .attribute("/etc/os-release")
        .or_else(|| system.attribute("/usr/lib/os-release"))
        .unwrap_or_default();
    let value = |name: &str| {
        text.lines().find_map(|line| {
            let value = line.strip_prefix(name)?.strip_prefix('=')?.trim();
            Some(value.trim_matches(['"', '\'']).to_owned())
        })
    };
    value("PRETTY_NAME").or_else(|| value("NAME")).unwrap_or_default()
}

/// An entry of the firmware's tables: Documentation/ABI/testing/sysfs-firmware-dmi-entries.
pub(crate) fn firmware(system: &System, name: &str) -> String {
    let text = system.attribute(format!("/sys/class/dmi/id/{name}")).unwrap_or_default();
    // Some firmware pads with zeros.
    text.trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned()
}

fn product(system: &System) -> String {
    let (vendor, product) = (firmware(system, "sys_vendor"), firmware(system, "product_name"));
    match (vendor.as_str(), product.as_str()) {
        // Arm boards without firmware tables have a device tree; its texts end in a zero byte.
        ("", "") => {
            let model = system.attribute("/proc/device-tree/model").unwrap_or_default();
            model.trim_end_matches('\0').to_owned()
        }
        (vendor, product) if product.starts_with(vendor) => product.to_owned(),
        (vendor, product) => format!("{vendor} {product}").trim().to_owned(),
    }
}

/// Names by which firmware tells the hypervisor; as in systemd's src/basic/virt.c, detect_vm_dmi_vendor.
const HYPERVISORS: [(&str, &str); 11] = [
    ("KVM", "kvm"),
    ("OpenStack", "kvm"),
    ("Amazon EC2", "kvm"),
    ("Google", "kvm"),
    ("QEMU", "qemu"),
    ("VMware", "vmware"),
    ("innotek GmbH", "virtualbox"),
    ("VirtualBox", "virtualbox"),
    ("Xen", "xen"),
    ("Bochs", "bochs"),
    ("Parallels", "parallels"),
];

fn hypervisor(system: &System) -> String {
    if let Some(told) = system.attribute("/sys/hypervisor/type").filter(|told| !told.is_empty()) {
        return told;
    }
    let (vendor, product) = (firmware(system, "sys_vendor"), firmware(system, "product_name"));
    // EC2's bare-metal instances have the same vendor, and no hypervisor.
    if product.contains(".metal") {
        return String::new();
    }
    if vendor == "Microsoft Corporation" && product == "Virtual Machine" {
        return "hyperv".into();
    }
    let named = HYPERVISORS.iter().find(|(name, _)| vendor.starts_with(name) || product.starts_with(name));
    if let Some((_, hypervisor)) = named {
        return (*hypervisor).into();
    }
    // A hypervisor without firmware tables still offers its clock.
    const CLOCKS: [(&str, &str); 3] = [("kvm-clock", "kvm"), ("xen", "xen"), ("hyperv_", "hyperv")];
    let clocks = words(system, &format!("{CLOCK}/available_clocksource"));
    if let Some((_, hypervisor)) = CLOCKS.iter().find(|(name, _)| clocks.iter().any(|c| c.starts_with(name)))
    {
        return (*hypervisor).into();
    }
    // The processor's flag tells that there is one, not which: X86_FEATURE_HYPERVISOR.
    let cpuinfo = system.attribute("/proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    match flags.split_ascii_whitespace().any(|flag| flag == "hypervisor") {
        true => "unknown".into(),
        false => String::new(),
    }
}

/// The marks that container runtimes leave: <https://systemd.io/CONTAINER_INTERFACE>,
/// podman-run(1) for `.containerenv`, Docker's `.dockerenv`.
fn container(system: &System) -> String {
    let exists = |path: &str| system.place(path).exists();
    let groups = system.attribute("/proc/self/cgroup").unwrap_or_default();
    if exists("/var/run/secrets/kubernetes.io") || groups.contains("kubepods") {
        return "kubernetes".into();
    }
    if exists("/run/.containerenv") {
        return "podman".into();
    }
    if exists("/.dockerenv") || groups.contains("/docker/") || groups.contains("/docker-") {
        return "docker".into();
    }
    if groups.contains("/lxc/") || groups.contains("/lxc.payload") {
        return "lxc".into();
    }
    if let Some(told) = system.attribute("/run/systemd/container").filter(|told| !told.is_empty()) {
        return told;
    }
    // Only containers have an overlay that says where its layers are as their root; live images too,
    // but those name no upper layer on a disk.
    let root_is_overlay = system
        .mounts()
        .unwrap_or_default()
        .iter()
        .any(|m| m.mount_point.as_os_str() == "/" && m.filesystem == "overlay");
    if root_is_overlay { "container".into() } else { String::new() }
}
