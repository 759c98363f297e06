//! What the Matrix Market reader takes for each byte of a file, at its peak, is what its documentation says.
//!
//! One test alone, so that nothing else allocates meanwhile.

use std::io::Write;

use peak_alloc::PeakAlloc;
use spmv_io::matrix_market::Reader;

#[global_allocator]
static COUNTED: PeakAlloc = PeakAlloc;

/// Of the documentation: bytes in any case, and for each byte of the file.
const PLAIN: (usize, usize) = (32 << 20, 64);
const GZIPPED: (usize, usize) = (128 << 20, 256);

/// Bytes of a file that are enough to separate what each of them costs from what every file costs.
const LARGE: usize = 8 << 20;

struct Case {
    name: &'static str,
    file: Vec<u8>,
    /// Whether it is a matrix, or words of the error.
    expected: Result<(), &'static str>,
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// A file of that banner and size, and so many equal lines.
fn repeated(banner: &str, size: &str, line: &str, times: usize) -> Vec<u8> {
    let mut text = format!("%%MatrixMarket matrix {banner}\n{size}\n").into_bytes();
    text.extend(line.as_bytes().repeat(times));
    text
}

/// A file of that banner, with the lines that are given to it.
fn listed(banner: &str, size: &str, lines: impl Iterator<Item = String>) -> Vec<u8> {
    let mut text = format!("%%MatrixMarket matrix {banner}\n{size}\n").into_bytes();
    lines.for_each(|line| text.extend(line.bytes()));
    text
}

/// A file of `LARGE` bytes of comments that claims so many rows for each byte, and those that any file may have.
fn claimed(rows_per_byte: usize) -> Vec<u8> {
    repeated(
        "coordinate pattern general",
        &format!("{} 1 0", (1 << 20) + LARGE * rows_per_byte),
        "%%%%%%%\n",
        LARGE / 8,
    )
}

/// Comments that do not compress, so that they justify as much as plain ones.
fn noise(bytes: usize) -> String {
    let mut state = 1u64;
    let mut byte = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        char::from(b'0' + (state >> 58) as u8)
    };
    (0..bytes / 64)
        .flat_map(|_| "%".chars().chain((0..62).map(|_| byte()).collect::<Vec<_>>()).chain(['\n']))
        .collect()
}

fn plain() -> Vec<Case> {
    let ok = |name, file| Case { name, file, expected: Ok(()) };
    // Whose lower triangle takes 8 MB.
    let side = 2828;
    vec![
        ok("header alone", repeated("coordinate real general", "1048576 1 0", "", 0)),
        ok("rows without entries", claimed(1)),
        Case {
            name: "more rows than bytes justify",
            file: claimed(8),
            expected: Err("rows are implausible"),
        },
        ok(
            "an entry in each row",
            listed(
                "coordinate real general",
                "1000000 1000000 1000000",
                (1..=1_000_000).map(|i| format!("{i} {i} 0.5\n")),
            ),
        ),
        ok(
            "shortest entries",
            repeated("coordinate pattern general", &format!("{LARGE} 1 {}", LARGE / 4), "1 1\n", LARGE / 4),
        ),
        ok(
            "shortest entries of both triangles",
            repeated(
                "coordinate pattern symmetric",
                &format!("{LARGE} {LARGE} {}", LARGE / 4),
                "2 1\n",
                LARGE / 4,
            ),
        ),
        ok("array", repeated("array integer general", &format!("{} 2", LARGE / 4), "1\n", LARGE / 2)),
        ok(
            "array of both triangles",
            repeated("array integer symmetric", &format!("{side} {side}"), "1\n", side * (side + 1) / 2),
        ),
        ok(
            "array of zeros",
            repeated("array integer general", &format!("{} 2", LARGE / 4), "0\n", LARGE / 2),
        ),
        Case {
            name: "an entry too few",
            file: repeated("coordinate pattern general", "2 2 1000000000000", "1 1\n", LARGE / 4),
            expected: Err("the file ends after 2097152 of 1000000000000 entries"),
        },
    ]
}

fn gzipped() -> Vec<Case> {
    let bombed = "implausible";
    let shortest = |entries: usize| {
        repeated("coordinate pattern symmetric", &format!("9 9 {entries}"), "2 1\n", entries)
    };
    let mut dense = listed(
        "coordinate pattern symmetric",
        "2000000 2000000 6000000",
        noise(LARGE / 2).lines().map(|l| format!("{l}\n")),
    );
    dense.extend(b"2 1\n".repeat(6_000_000));
    vec![
        Case {
            name: "64 MiB of comments",
            file: gzip(&repeated("coordinate real general", "1 1 0", "%%%%%%%\n", 8 << 20)),
            expected: Ok(()),
        },
        Case { name: "64 MiB of entries", file: gzip(&shortest(16 << 20)), expected: Err(bombed) },
        Case {
            name: "64 MiB of an array",
            file: gzip(&repeated("array integer symmetric", "8191 8191", "1\n", 8191 * 4096)),
            expected: Err(bombed),
        },
        Case {
            name: "64 MiB of zeros",
            file: gzip(&repeated("array integer general", "8192 4096", "0\n", 8192 * 4096)),
            expected: Ok(()),
        },
        Case { name: "comments that pay for entries", file: gzip(&dense), expected: Ok(()) },
    ]
}

#[test]
fn memory_is_bounded_by_the_bytes_of_the_file() {
    // Threads and what they keep are no part of a file.
    let _ = Reader::new().parse::<f64>(&repeated("array integer general", "1000 1000", "1\n", 1_000_000));
    let mut wrong = Vec::new();
    println!("{:>12} {:>12} {:>9} {:>9}  file", "bytes", "peak", "a byte", "of bound");
    for (bound, cases) in [(PLAIN, plain()), (GZIPPED, gzipped())] {
        for Case { name, file, expected } in cases {
            let before = COUNTED.current_usage();
            COUNTED.reset_peak_usage();
            // The widest values and offsets.
            let result = Reader::new().read_from::<f64, u64>(&file[..]);
            let peak = COUNTED.peak_usage() - before;
            let most = bound.0 + bound.1 * file.len();
            let (a_byte, share) = (peak as f64 / file.len() as f64, peak as f64 / most as f64);
            println!("{:>12} {peak:>12} {a_byte:>9.1} {share:>9.2}  {name}", file.len());
            match (result, expected) {
                (Ok(_), Ok(())) => {}
                (Err(e), Err(words)) if e.to_string().contains(words) => {}
                (result, _) => wrong.push(format!("{name}: {:?}", result.map(|a| a.nnz()))),
            }
            if peak > most {
                wrong.push(format!("{name}: {peak} bytes for a file of {}, more than {most}", file.len()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
