//! The time source of every latency: the processor's own counter where it can be trusted.
//!
//! Reading the time-stamp counter costs less than half of `clock_gettime`, and the hot loop reads
//! it once an operation. The counter is used only where it ticks at a constant rate in every power
//! state and the kernel has not itself rejected it; its rate is measured against
//! `CLOCK_MONOTONIC`, never assumed.

use std::sync::OnceLock;
use std::time::Duration;

/// A point in time in units of the source; only differences mean anything.
pub type Ticks = u64;

/// How long the counter is held against the kernel's clock to learn its rate. Both ends are read
/// to within about 50 ns, so the rate is known to 5 in a million.
const RATE_MEASURING: Duration = Duration::from_millis(20);

/// Where time comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The processor's counter.
    Counter,
    /// `clock_gettime(CLOCK_MONOTONIC)`.
    Kernel,
}

/// A time source with its rate.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: Source,
    /// Nanoseconds per tick, as a 32.32 fixed-point number.
    ns_per_tick: u64,
    ticks_per_ns: f64,
}

impl Clock {
    /// The clock of this machine; the first call takes 20 ms to measure the counter's rate.
    pub fn get() -> Clock {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        *CLOCK.get_or_init(|| {
            if counter_is_trustworthy() {
                let ns_per_tick = measure_counter();
                if ns_per_tick.is_finite() && ns_per_tick > 0.0 {
                    return Clock {
                        source: Source::Counter,
                        ns_per_tick: (ns_per_tick * 4_294_967_296.0) as u64,
                        ticks_per_ns: 1.0 / ns_per_tick,
                    };
                }
            }
            Clock::kernel()
        })
    }

    /// The kernel's clock, for comparison and for machines without a counter to trust.
    pub fn kernel() -> Clock {
        Clock { source: Source::Kernel, ns_per_tick: 1 << 32, ticks_per_ns: 1.0 }
    }

    /// The name recorded with each measurement.
    pub fn name(self) -> &'static str {
        match self.source {
            Source::Kernel => "clock_gettime",
            Source::Counter if cfg!(target_arch = "x86_64") => "tsc",
            Source::Counter => "cntvct",
        }
    }

    /// Now.
    #[inline(always)]
    pub fn now(self) -> Ticks {
        match self.source {
            Source::Counter => read_counter(),
            Source::Kernel => kernel_ns(),
        }
    }

    /// A difference of ticks in nanoseconds.
    #[inline(always)]
    pub fn to_ns(self, ticks: Ticks) -> u64 {
        ((u128::from(ticks) * u128::from(self.ns_per_tick)) >> 32) as u64
    }

    /// Nanoseconds in ticks.
    pub fn to_ticks(self, ns: u64) -> Ticks {
        (ns as f64 * self.ticks_per_ns) as u64
    }
}

/// `CLOCK_MONOTONIC` in nanoseconds.
pub fn kernel_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn read_counter() -> u64 {
    // SAFETY: RDTSC has no precondition; user mode may read it unless the kernel forbids it, in
    // which case the kernel's clock source is not `tsc` either and the counter is not used.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn read_counter() -> u64 {
    let ticks: u64;
    // SAFETY: the virtual counter is readable from user mode on every Linux (the vDSO reads it).
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn read_counter() -> u64 {
    kernel_ns()
}

/// Constant in all power states (CPUID 8000_0007h EDX bit 8, Intel SDM 18.17.1, AMD APM 13.2.4)
/// and not rejected by the kernel, which watches it against other clocks.
#[cfg(target_arch = "x86_64")]
fn counter_is_trustworthy() -> bool {
    use core::arch::x86_64::__cpuid;
    const INVARIANT_TSC: u32 = 1 << 8;
    let leaves = __cpuid(0x8000_0000).eax;
    let invariant = leaves >= 0x8000_0007 && __cpuid(0x8000_0007).edx & INVARIANT_TSC != 0;
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .unwrap_or_default();
    invariant && matches!(source.trim(), "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page")
}

#[cfg(target_arch = "aarch64")]
fn counter_is_trustworthy() -> bool {
    true // The architecture defines the counter as constant-rate (Arm ARM, D12.1).
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn counter_is_trustworthy() -> bool {
    false
}

/// The kernel's time and the counter, as close together as several tries can bring them.
fn read_both() -> (u64, u64) {
    (0..8)
        .map(|_| {
            let before = read_counter();
            let ns = kernel_ns();
            let after = read_counter();
            (after.wrapping_sub(before), ns, before.wrapping_add(after.wrapping_sub(before) / 2))
        })
        .min_by_key(|(gap, _, _)| *gap)
        .map(|(_, ns, ticks)| (ns, ticks))
        .unwrap_or_default()
}

/// Nanoseconds per tick of the counter.
fn measure_counter() -> f64 {
    let (ns_start, ticks_start) = read_both();
    std::thread::sleep(RATE_MEASURING);
    let (ns_end, ticks_end) = read_both();
    (ns_end - ns_start) as f64 / ticks_end.wrapping_sub(ticks_start) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_agrees_with_the_kernel() {
        let clock = Clock::get();
        let (kernel, ticks) = (kernel_ns(), clock.now());
        std::thread::sleep(Duration::from_millis(50));
        let elapsed_kernel = (kernel_ns() - kernel) as f64;
        let elapsed = clock.to_ns(clock.now() - ticks) as f64;
        assert!((elapsed / elapsed_kernel - 1.0).abs() < 0.01, "{elapsed} against {elapsed_kernel}");
    }

    #[test]
    fn ticks_and_nanoseconds_convert_back() {
        let clock = Clock::get();
        for ns in [1_000u64, 1_000_000, 60_000_000_000, 86_400_000_000_000] {
            let back = clock.to_ns(clock.to_ticks(ns));
            assert!(back.abs_diff(ns) <= 1 + ns / 1_000_000, "{ns} came back as {back}");
        }
    }
}
