//! Layouts refuse what they cannot hold, and nothing else.

use spmv_backend::Backend;
use spmv_core::format::{Dia, Ell, FormatError, Jad};
use spmv_core::{Csr, Value};
use spmv_exec::{Algorithm, Device, Error, Options, Prepared};

use crate::corpus::of_lengths;
use crate::outcome::Check;

/// What the layout itself says of a matrix.
fn refusal<T: Value>(algorithm: Algorithm, a: &Csr<T>, max_blow_up: f64) -> Option<FormatError> {
    match algorithm {
        Algorithm::Ell => Ell::from_csr(a.view(), max_blow_up).err(),
        Algorithm::Jad => Jad::from_csr(a.view(), max_blow_up).err(),
        Algorithm::Dia => Dia::from_csr(a.view(), max_blow_up).err(),
        _ => None,
    }
}

/// The prepared matrix, or `None` where its layout refuses it, which it must then say in the same words.
pub(crate) fn prepare<B: Backend, T: Value>(
    device: &Device<B>,
    a: &Csr<T>,
    options: &Options,
) -> Result<Option<Prepared<B, T>>, String> {
    let expected = refusal(options.algorithm, a, options.max_blow_up);
    match (device.prepare(a.view(), options), expected) {
        (Ok(prepared), None) => Ok(Some(prepared)),
        (Err(Error::Format(found)), Some(expected)) if found == expected => Ok(None),
        (Ok(_), Some(expected)) => Err(format!("prepared, but must be refused: {expected}")),
        (Err(e), _) => Err(format!("prepare: {e}")),
    }
}

/// The first of repeated entries, and one for stored zeros: what `dia` can hold.
pub(crate) fn without_repeats_and_zeros<T: Value>(a: &Csr<T>) -> Csr<T> {
    let rows = (0..a.n_rows()).map(|row| {
        let mut row: Vec<(u32, T)> = a.row(row).collect();
        row.sort_by_key(|(col, _)| *col);
        row.dedup_by_key(|(col, _)| *col);
        let one = |val: T| if val == T::from_f64(0.0) { T::from_f64(1.0) } else { val };
        row.into_iter().map(move |(col, val)| (col, one(val)))
    });
    Csr::from_rows(a.n_cols(), rows).expect("fewer entries than before")
}

/// By what layouts allow by themselves: one full row pads too much, scattered entries have too many diagonals, and a
/// stored zero or repeated entries have none.
pub(crate) fn check<B: Backend>(device: &Device<B>, algorithm: Algorithm) -> Check {
    let options = Options { algorithm, ..Options::default() };
    let ones = |entries: Vec<(u32, u32)>| {
        let triplets: Vec<_> = entries.into_iter().map(|(row, col)| (row, col, 1.0f32)).collect();
        Csr::from_coo(400, 400, &triplets).expect("valid")
    };
    let arrow = ones((0..400).flat_map(|i| [(0, i), (i, i)]).skip(1).collect());
    let scattered = ones((0..400).map(|i| (i, i * 37 % 400)).collect());
    let diagonals = ones((1..399).flat_map(|i| [(i, i - 1), (i, i), (i, i + 1)]).collect());
    let one_row = ones((0..400).map(|i| (7, i)).collect());
    let repeated = Csr::new(2, 2, vec![0u32, 0, 2], vec![1, 1], vec![1.0f32, 2.0]).expect("valid");
    let zero = Csr::new(2, 2, vec![0u32, 0, 2], vec![0, 1], vec![1.0f32, 0.0]).expect("valid");
    let mixed = without_repeats_and_zeros(&of_lengths(&[3, 0, 2, 3], 8).map_values(|v| v as f32));
    let by = |algorithms: &[Algorithm]| algorithms.contains(&algorithm);
    let cases = [
        ("an arrow", &arrow, by(&[Algorithm::Ell, Algorithm::Dia])),
        ("scattered entries", &scattered, by(&[Algorithm::Dia])),
        ("three diagonals", &diagonals, false),
        ("one long row", &one_row, by(&[Algorithm::Ell, Algorithm::Dia])),
        ("repeated entries", &repeated, by(&[Algorithm::Dia])),
        ("a stored zero", &zero, by(&[Algorithm::Dia])),
        ("short rows", &mixed, false),
    ];
    for (name, a, refused) in cases {
        let prepared = prepare(device, a, &options).map_err(|e| format!("{name}: {e}"))?;
        if refused != prepared.is_none() {
            return Err(format!("{name}: refused: {}", !refused));
        }
    }
    // One long row takes 1.3 times the bytes in `jad`, the least of the three.
    let strict = Options { max_blow_up: 1.2, ..options };
    match prepare(device, &one_row, &strict).map_err(|e| format!("at most 1.2 times the bytes: {e}"))? {
        None => Ok(0),
        Some(_) => Err("one long row: not refused above 1.2 times the bytes of CSR".into()),
    }
}
