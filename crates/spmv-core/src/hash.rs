//! A hash that never changes.

/// FNV-1a, 64 bits: the same on every machine and in every version. It finds damage, not malice. O(bytes).
///
/// ```
/// assert_eq!(spmv_core::fnv1a(b""), 0xcbf2_9ce4_8422_2325);
/// assert_eq!(spmv_core::fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
/// ```
pub fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
