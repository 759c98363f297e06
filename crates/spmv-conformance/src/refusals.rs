//! Layouts refuse what they cannot hold, and nothing else.

use spmv_backend::Backend;
use spmv_core::format::FormatError;
use spmv_core::{Csr, Value};
use spmv_exec::{Algorithm, Device, Error, Options, Prepared};

use crate::corpus::of_lengths;
use crate::outcome::Check;

/// The prepared matrix, or `None` where the algorithm's own layout refuses it: by name, and for bytes only if they are
/// really more than allowed.
pub(crate) fn prepare<B: Backend, T: Value>(
    device: &Device<B>,
    a: &Csr<T>,
    options: &Options,
) -> Result<Option<Prepared<B, T>>, String> {
    let own_layout = options.algorithm.has_own_layout();
    let e = match device.prepare(a.view(), options) {
        Ok(prepared) => return Ok(Some(prepared)),
        Err(Error::Format(e)) if own_layout => e,
        Err(e) => return Err(format!("prepare: {e}")),
    };
    let own = |format: &str| format == options.algorithm.name();
    match &e {
        FormatError::TooLarge { format, bytes, csr_bytes, .. } if own(format) => {
            match *bytes as f64 / *csr_bytes as f64 {
                ratio if ratio <= options.max_blow_up => Err(format!("refused, but is small enough: {e}")),
                _ => Ok(None),
            }
        }
        FormatError::Repeated { format, row, col } if own(format) => {
            let n = a.row(*row).filter(|(c, _)| c == col).count();
            if n > 1 { Ok(None) } else { Err(format!("refused, but {n} entries are there: {e}")) }
        }
        FormatError::StoredZero { format, row, col } if own(format) => {
            let is_zero = a.row(*row).any(|(c, val)| c == *col && val == T::default());
            if is_zero { Ok(None) } else { Err(format!("refused, but no zero is there: {e}")) }
        }
        e => Err(format!("refused for another layout: {e}")),
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
    let cases = [
        ("an arrow", &arrow),
        ("scattered entries", &scattered),
        ("three diagonals", &diagonals),
        ("one long row", &one_row),
        ("repeated entries", &repeated),
        ("a stored zero", &zero),
        ("short rows", &mixed),
    ];
    let expected = algorithm.facts().map_or(&[][..], |facts| facts.refuses);
    if let Some(unknown) = expected.iter().find(|name| !cases.iter().any(|(known, _)| known == *name)) {
        return Err(format!("'{unknown}' is none of the examples"));
    }
    for (name, a) in cases {
        let refused = expected.contains(&name);
        let prepared = prepare(device, a, &options).map_err(|e| format!("{name}: {e}"))?;
        if refused != prepared.is_none() {
            return Err(format!("{name}: refused: {}", !refused));
        }
    }
    // One long row takes more bytes than CSR in every layout, and it or scattered entries take 1.3 times them.
    let refuses = |a: &Csr<f32>, max_blow_up: f64| {
        let prepared = prepare(device, a, &Options { max_blow_up, ..options });
        prepared
            .map(|found| found.is_none())
            .map_err(|e| format!("at most {max_blow_up} times the bytes: {e}"))
    };
    if !refuses(&one_row, 1.0)? {
        return Err("one long row: not refused above the bytes of CSR".into());
    }
    match refuses(&one_row, 1.2)? || refuses(&scattered, 1.2)? {
        true => Ok(0),
        false => {
            Err("neither one long row nor scattered entries: refused above 1.2 times the bytes of CSR".into())
        }
    }
}
