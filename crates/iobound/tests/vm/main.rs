//! The program on a real kernel with real mdadm, LVM and XFS, in the virtual machine lab: a host is
//! probed, prepared, checked, measured, broken, rebooted and brought back as it was.
//!
//! Nothing here touches this machine's disks. Skips, with a reason, where there is no virtual machine.

mod database;
mod drives;
mod guest;
mod lvm_stripes;
mod power_cut;
mod seed_layout;
mod traps;
