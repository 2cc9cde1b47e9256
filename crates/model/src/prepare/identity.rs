//! UUIDs and tags of what is made, chosen when it is planned.
//!
//! They follow from the machine, the context and the thing itself, so that the plan stays a pure
//! function, a plan made again names the same, and two machines never do.

use xxhash_rust::xxh3::xxh3_128;

/// 128 bits that belong to one thing on one machine.
fn bits(machine_id: &str, context: &str, what: &str) -> [u8; 16] {
    xxh3_128(format!("iobound prepare\0{machine_id}\0{context}\0{what}").as_bytes()).to_be_bytes()
}

/// A UUID of version 8 ("vendor-specific", RFC 9562 section 5.8).
pub(super) fn uuid(machine_id: &str, context: &str, what: &str) -> String {
    let mut bytes = bits(machine_id, context, what);
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// The same bits as mdadm writes them: four groups of eight.
pub(super) fn md_uuid(machine_id: &str, context: &str, what: &str) -> String {
    let hex = uuid(machine_id, context, what).replace('-', "");
    [&hex[..8], &hex[8..16], &hex[16..24], &hex[24..]].join(":")
}

/// As LVM writes a UUID: 32 letters and digits in groups of 6-4-4-4-4-4-6 (lib/uuid/uuid.c).
pub(super) fn lvm_uuid(machine_id: &str, context: &str, what: &str) -> String {
    const LETTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let bytes = [bits(machine_id, context, what), bits(machine_id, context, &format!("{what}\0more"))];
    let text: String =
        bytes.iter().flatten().map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])).collect();
    let ends = [0, 6, 10, 14, 18, 22, 26, 32];
    ends.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect::<Vec<_>>().join("-")
}

/// A tag for a volume group.
pub(super) fn tag(machine_id: &str, context: &str, what: &str) -> String {
    format!("iobound.{}", &uuid(machine_id, context, what)[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_gets_its_own_form() {
        let id = uuid("m", "c", "data");
        assert_eq!((id.len(), &id[14..15]), (36, "8"), "{id}");
        assert_eq!(md_uuid("m", "c", "data").replace(':', ""), id.replace('-', ""));
        let lvm = lvm_uuid("m", "c", "data");
        assert_eq!(lvm.split('-').map(str::len).collect::<Vec<_>>(), [6, 4, 4, 4, 4, 4, 6]);
        assert_ne!(uuid("other", "c", "data"), id);
        assert_ne!(uuid("m", "c", "wal"), id);
    }
}
