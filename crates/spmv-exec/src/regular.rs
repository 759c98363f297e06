//! What algorithms share whose lanes take a regular part of each row, and the rest of it where that is short.

use spmv_core::Tiling;
use spmv_core::format::Cost;

use crate::method::{Limits, bits};

/// Entries of a row's rest up to which one lane takes it alone: `SHORT` of the kernels.
pub(crate) const SHORT: f64 = 32.0;

/// Rows of a part at most: each has as many slots as the layout has for it on average, or fewer. Its slots are `regular` ones of
/// each row and those of the rest.
pub(crate) fn rows_of_a_part(cost: Option<&Cost>, limits: &Limits, n_rows: usize) -> usize {
    let of_a_row = cost.map_or(0, |cost| cost.slots).div_ceil(n_rows.max(1) as u64).max(1);
    (limits.max_entries as u64 / of_a_row).clamp(1, limits.max_rows as u64) as usize
}

/// Iterations of a lane for each of its rows at most: its bunch may take a long row for each of its lanes, and add the lanes'
/// sums in two loops.
pub(crate) fn loop_steps(tiling: &Tiling) -> u64 {
    let lanes = u64::from(tiling.lanes());
    4 + lanes * (2 + 2 * bits(lanes))
}

/// Steps of the lane with the longest row: `slots` of the regular part, and a rest of so many entries.
pub(crate) fn steps(slots: f64, rest: f64, tiling: &Tiling) -> f64 {
    slots + if rest > SHORT { rest / f64::from(tiling.lanes()) } else { rest }
}

#[cfg(test)]
mod tests {
    use spmv_backend::{DeviceCaps, DeviceKind, KernelSpec, Lanes, MemoryModel};
    use spmv_core::format::FormatError;
    use spmv_core::{Csr, Dtype, MatrixStats, oracle};
    use spmv_cpu::{Cpu, Mask, Options as CpuOptions};

    use super::*;
    use crate::method::Storage;
    use crate::{Algorithm, Device, Error, Options, Prepared};

    const BOTH: [Algorithm; 2] = [Algorithm::EllCsr, Algorithm::DiaCsr];

    fn device(max_buffer_bytes: Option<u64>) -> Device<Cpu> {
        let mask = Mask { max_buffer_bytes, ..Mask::default() };
        Device::new(Cpu::open(CpuOptions { mask, ..CpuOptions::default() }).unwrap()).unwrap()
    }

    /// Three diagonals, far entries, and one row that is full.
    fn banded() -> Csr<f64> {
        with_full_row(20)
    }

    fn with_full_row(full: u32) -> Csr<f64> {
        let n = 60u32;
        let cols = |r: u32| match r {
            r if r == full => (0..n).collect(),
            r if r % 4 == 0 => vec![r, r + 1, r + 2, (r + 30) % n],
            r => vec![r, r + 1, r + 2],
        };
        let rows = (0..n).map(|r| cols(r).into_iter().map(|c| (c, f64::from(c) + 0.5)).collect::<Vec<_>>());
        Csr::from_rows(n as usize + 2, rows).unwrap()
    }

    fn prepared(device: &Device<Cpu>, algorithm: Algorithm, width: Option<usize>) -> Prepared<Cpu, f64> {
        let options = Options { algorithm, regular_width: width, max_blow_up: 30.0, ..Options::default() };
        device.prepare(banded().view(), &options).unwrap()
    }

    #[test]
    fn the_narrowest_part_that_holds_four_fifths_is_taken_unless_another_is_asked_for() {
        let device = device(None);
        let width = |algorithm, asked| prepared(&device, algorithm, asked).plan().regular_width;
        // Of 251 entries 195 are in four slots and 182 at most 2 columns from the diagonal; the full row has those up to 201.
        assert_eq!(BOTH.map(|algorithm| width(algorithm, None)), [Some(10), Some(12)]);
        assert_eq!(BOTH.map(|algorithm| width(algorithm, Some(2))), [Some(2); 2]);
        assert_eq!(width(Algorithm::Ell, Some(2)), None);
        let explained = prepared(&device, Algorithm::EllCsr, Some(2)).plan().explain();
        assert!(explained.contains("\n  regular part: width 2"), "{explained}");
    }

    #[test]
    fn any_width_and_any_parts_give_the_product() {
        let (a, x) = (banded(), Vec::from_iter((0..62).map(f64::from)));
        let expected = oracle::multiply(a.view(), 2.0, &x, 0.5, &[1.0; 60]).y;
        for (bytes, width) in [None, Some(800)].into_iter().flat_map(|b| [0, 2, 70].map(|w| (b, w))) {
            for algorithm in BOTH {
                let prepared = prepared(&device(bytes), algorithm, Some(width));
                assert_eq!(prepared.n_parts() > 1, bytes.is_some());
                let mut y = vec![1.0; 60];
                let mut workspace = prepared.workspace().unwrap();
                prepared.apply_slices(&mut workspace, 2.0, &x, 0.5, &mut y).unwrap();
                assert_eq!(y, expected, "{algorithm} {width} {bytes:?}");
            }
        }
    }

    #[test]
    fn every_part_of_a_matrix_has_the_diagonals_of_the_whole() {
        let prepared = prepared(&device(Some(800)), Algorithm::DiaCsr, Some(2));
        let parts = prepared.parts.iter().map(|part| format!("{part:?}"));
        assert_eq!(parts.filter(|part| part.contains("n_diags: 3,")).count(), prepared.n_parts() - 1);
        // The full row's part has two more.
        assert!(format!("{:?}", prepared.parts).contains("n_diags: 5,"));
    }

    #[test]
    fn statistics_say_what_the_matrix_costs() {
        // No row is full: diagonals are counted where there are few.
        let a = with_full_row(u32::MAX);
        let stats = MatrixStats::of(a.view());
        let rows_alone = MatrixStats::from(&stats.rows);
        let tiling = Tiling::new(32, 1, 1, 1).unwrap();
        for known in BOTH.map(|algorithm| algorithm.known().unwrap()) {
            let kernel = KernelSpec::new(known.method().facts().kernel, Dtype::F64, Lanes::Subgroup, tiling);
            let caps = DeviceCaps::new("a device", DeviceKind::Other, MemoryModel::Discrete);
            let storage = |stats: &MatrixStats| known.method().storage(stats, &kernel, &caps);
            let cost = known.cost(a.view(), known.regular_width(a.view(), None).unwrap()).unwrap();
            assert_eq!((storage(&stats), storage(&rows_alone)), (Storage::Own(cost), Storage::Unknown));
        }
    }

    #[test]
    fn a_part_so_wide_that_it_pads_too_much_is_refused() {
        let device = device(None);
        // The longest row has 60 entries; the full row has 60 diagonals, far entries have one more.
        for (algorithm, bytes) in [(BOTH[0], 60 * 60 * 12 + 61 * 4), (BOTH[1], 60 * 61 * 8 + 61 * 4 + 61 * 4)]
        {
            let options = |max_blow_up| {
                let regular_width = Some(usize::MAX);
                Options { algorithm, regular_width, max_blow_up, ..Options::default() }
            };
            let refused = device.prepare(banded().view(), &options(3.0)).unwrap_err();
            let Error::Format(FormatError::TooLarge { bytes: found, format, .. }) = refused else {
                panic!("{refused}");
            };
            assert_eq!((found, format), (bytes, algorithm.name()));
            assert!(device.prepare(banded().view(), &options(30.0)).is_ok());
        }
    }

    #[test]
    fn parts_have_no_more_rows_than_their_slots_fit() {
        let limits = Limits { max_entries: 1000, max_rows: 400 };
        let cost = |slots| Cost { bytes: 0, csr_bytes: 0, slots, padding: 0 };
        let rows = |slots, n_rows| rows_of_a_part(Some(&cost(slots)), &limits, n_rows);
        assert_eq!((rows(500, 100), rows(501, 100)), (200, 166));
        assert_eq!((rows(0, 0), rows(0, 100), rows(1 << 40, 1)), (400, 400, 1));
    }
}
