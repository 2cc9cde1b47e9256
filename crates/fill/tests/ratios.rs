//! Asked ratios hold, as measured by the real compressors and by a block-hash scan.

mod observe;

use observe::{PIECE_BYTES, RATIOS, bytes, dedup_ratio, filler, lz4_ratio, zstd_ratio};

/// How far a ratio may be from what was asked.
const TOLERANCE: f64 = 0.02;

#[track_caller]
fn assert_near(found: f64, asked: f64, tolerance: f64, what: &str) {
    assert!((found / asked - 1.0).abs() < tolerance, "{what}: asked {asked}, found {found:.4}");
}

#[test]
fn compress_and_dedup_ratios_hold_together() {
    println!("compress dedup | zstd -1   lz4 | zstd, lz4 at 16 KiB | scan at 4 KiB");
    for compress in RATIOS {
        for dedup in RATIOS {
            let filler = filler(compress, dedup, 4096);
            let data = bytes(&filler, 0, 5 << 30, 4 << 20);
            let (zstd, lz4) = (zstd_ratio(&data, PIECE_BYTES), lz4_ratio(&data, PIECE_BYTES));
            let (zstd_16k, lz4_16k) = (zstd_ratio(&data, 16 << 10), lz4_ratio(&data, 16 << 10));
            let scanned = dedup_ratio(&filler, 0, 64 << 20, 4096);
            println!(
                "{compress:>8} {dedup:>5} | {zstd:.4} {lz4:.4} | {zstd_16k:.4} {lz4_16k:.4} | {scanned:.4}"
            );
            let what = |tool: &str| format!("{tool}, compress {compress} with dedup {dedup}");
            assert_near(zstd, compress, TOLERANCE, &what("zstd -1"));
            assert_near(lz4, compress, TOLERANCE, &what("lz4"));
            assert_near(zstd_16k, compress, 2.0 * TOLERANCE, &what("zstd -1 at 16 KiB"));
            assert_near(lz4_16k, compress, 2.0 * TOLERANCE, &what("lz4 at 16 KiB"));
            assert_near(scanned, dedup, TOLERANCE, &what("block-hash scan"));
        }
    }
}

#[test]
fn dedup_ratio_holds_at_each_unit_and_from_anywhere() {
    for unit in [4096, 16 << 10, 128 << 10, 1 << 20] {
        for dedup in [1.5, 5.0] {
            let filler = filler(1.0, dedup, unit);
            let scanned = dedup_ratio(&filler, 0, 256 << 20, unit);
            assert_near(scanned, dedup, TOLERANCE, &format!("scan at {unit}"));
        }
    }
    for position in [4096 * 777, (3 << 40) + 4096 * 12_345] {
        let scanned = dedup_ratio(&filler(1.0, 5.0, 4096), position, 64 << 20, 4096);
        assert_near(scanned, 5.0, TOLERANCE, &format!("window at {position}"));
    }
}

#[test]
fn dedup_does_not_show_as_compression_in_any_record() {
    // 128 KiB is what btrfs compresses at once, and ZFS by default.
    for (dedup, unit) in [(1.5, 4096), (5.0, 4096), (5.0, 64 << 10), (100.0, 4096)] {
        let data = bytes(&filler(1.0, dedup, unit), 0, 0, 8 << 20);
        for piece_bytes in [PIECE_BYTES, 128 << 10] {
            assert!(zstd_ratio(&data, piece_bytes) < 1.001);
            assert!(lz4_ratio(&data, piece_bytes) < 1.001);
        }
    }
}

#[test]
fn compressible_data_is_not_dedupable() {
    for compress in RATIOS {
        for block_bytes in [512, 4096, PIECE_BYTES] {
            let scanned = dedup_ratio(&filler(compress, 1.0, 4096), 0, 64 << 20, block_bytes);
            assert!(scanned < 1.000_001, "compress {compress}, blocks of {block_bytes}: {scanned}");
        }
    }
}

#[test]
fn storage_that_compresses_other_records_sees_about_the_same() {
    for compress in RATIOS {
        let data = bytes(&filler(compress, 1.0, 4096), 0, 1 << 35, 4 << 20);
        for piece_bytes in [4 << 10, 8 << 10, 128 << 10, 1 << 20] {
            let (zstd, lz4) = (zstd_ratio(&data, piece_bytes), lz4_ratio(&data, piece_bytes));
            println!("{compress:>4} in {:>4} KiB | {zstd:.4} {lz4:.4}", piece_bytes >> 10);
            assert_near(zstd, compress, 0.05, &format!("zstd -1 at {piece_bytes}"));
            assert_near(lz4, compress, 0.05, &format!("lz4 at {piece_bytes}"));
        }
    }
}

#[test]
fn ratios_between_hold_too() {
    for compress in [1.02, 1.1, 1.25, 1.75, 2.5, 4.0, 6.0, 8.0] {
        let data = bytes(&filler(compress, 1.0, 4096), 3, 0, 2 << 20);
        // Above what is promised, lz4's cost per run begins to tell.
        let tolerance = if compress <= 5.0 { TOLERANCE } else { 0.03 };
        let (zstd, lz4) = (zstd_ratio(&data, PIECE_BYTES), lz4_ratio(&data, PIECE_BYTES));
        println!("{compress:>5} | {zstd:.4} {lz4:.4}");
        assert_near(zstd, compress, tolerance, "zstd -1");
        assert_near(lz4, compress, tolerance, "lz4");
    }
}
