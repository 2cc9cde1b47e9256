//! The processor's name.

/// Designers: the Arm Architecture Reference Manual, MIDR_EL1.Implementer.
const DESIGNERS: &[(u32, &str)] = &[
    (0x41, "Arm"),
    (0x42, "Broadcom"),
    (0x43, "Cavium"),
    (0x46, "Fujitsu"),
    (0x48, "HiSilicon"),
    (0x4e, "NVIDIA"),
    (0x50, "Applied Micro"),
    (0x51, "Qualcomm"),
    (0x61, "Apple"),
    (0x6d, "Microsoft"),
    (0xc0, "Ampere"),
];

/// Parts: arch/arm64/include/asm/cputype.h in the kernel tree. Graviton2, 3 and 4 are Neoverse-N1,
/// V1 and V2.
const PARTS: &[(u32, u32, &str)] = &[
    (0x41, 0xd03, "Cortex-A53"),
    (0x41, 0xd05, "Cortex-A55"),
    (0x41, 0xd07, "Cortex-A57"),
    (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd0c, "Neoverse-N1"),
    (0x41, 0xd40, "Neoverse-V1"),
    (0x41, 0xd49, "Neoverse-N2"),
    (0x41, 0xd4f, "Neoverse-V2"),
    (0x41, 0xd84, "Neoverse-V3"),
    (0x41, 0xd8e, "Neoverse-N3"),
    (0x43, 0x0af, "ThunderX2"),
    (0x46, 0x001, "A64FX"),
    (0x48, 0xd01, "Kunpeng-920"),
    (0xc0, 0xac3, "Ampere-1"),
    (0xc0, 0xac4, "Ampere-1a"),
];

/// The model in `/proc/cpuinfo`. x86 names it; aarch64 gives numbers, which are looked up, and kept
/// beside the name; others use one of a few other words. Empty when nothing is said.
pub(crate) fn cpu_model(cpuinfo: &str) -> String {
    let field = |name: &str| {
        cpuinfo.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned()).filter(|value| !value.is_empty())
        })
    };
    field("model name")
        .or_else(|| arm_model(&field("CPU implementer")?, &field("CPU part")?))
        // POWER, RISC-V, s390, LoongArch.
        .or_else(|| field("cpu"))
        .or_else(|| field("uarch"))
        .or_else(|| field("isa"))
        .or_else(|| field("Model Name"))
        .or_else(|| field("vendor_id"))
        .unwrap_or_default()
}

fn arm_model(implementer: &str, part: &str) -> Option<String> {
    let number = |text: &str| u32::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok();
    let (designer, part) = (number(implementer)?, number(part)?);
    let named = DESIGNERS.iter().find(|(code, _)| *code == designer);
    let known = PARTS.iter().find(|(by, code, _)| (*by, *code) == (designer, part));
    let name = match (named, known) {
        (Some((_, designer)), Some((_, _, part))) => format!("{designer} {part} "),
        (Some((_, designer)), None) => format!("{designer} "),
        _ => String::new(),
    };
    Some(format!("{name}(implementer {designer:#04x}, part {part:#05x})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn models() {
        for (cpuinfo, model) in [
            ("processor\t: 0\nmodel\t\t: 2\nmodel name\t: AMD EPYC 9R14\nflags\t: fpu", "AMD EPYC 9R14"),
            (
                "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd4f\n",
                "Arm Neoverse-V2 (implementer 0x41, part 0xd4f)",
            ),
            ("CPU implementer\t: 0x51\nCPU part\t: 0x001\n", "Qualcomm (implementer 0x51, part 0x001)"),
            ("CPU implementer\t: 0x99\nCPU part\t: 0x1\n", "(implementer 0x99, part 0x001)"),
            ("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n", "POWER9, altivec supported"),
            ("", ""),
        ] {
            assert_eq!(cpu_model(cpuinfo), model);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC*", part in "\\PC{0,8}") {
            cpu_model(&text);
            cpu_model(&format!("CPU implementer: {part}\nCPU part: {part}"));
        }
    }
}
