//! Products by the transpose on every device, by one and by several, next to the oracle.

use spmv::hetero::Steering;
use spmv::{BackendKind, Context, Csr, Dtype, Error, Options, Scalar, Value, by_dtype, c64, oracle};
use spmv_conformance::{SCALINGS, Share, compare, corpus, flushed, input, number, same_bits};
use spmv_hetero::Split;

/// Every device, three as one, and the first with the host's cores.
fn contexts() -> Vec<Context> {
    let (mut contexts, _) = Context::every(&BackendKind::ALL);
    assert!(!contexts.is_empty());
    let three: Vec<Context> = contexts.iter().cycle().take(3).cloned().collect();
    contexts.push(Context::devices(&three).unwrap());
    // None on a single core.
    if let Ok(both) = contexts[0].with_host_cores() {
        let split = Some(Split::by_rows(7));
        contexts.push(both.steered(Steering { split, ..Steering::default() }));
    }
    contexts
}

fn knows(context: &Context, dtype: Dtype) -> bool {
    let caps = context.caps();
    caps.storage.contains(dtype) && caps.arithmetic.contains(dtype.accum())
}

/// One matrix in some scalings, twice, by the matrix and in a queue; then with other values.
fn check<T: Scalar>(
    context: &Context,
    case: &corpus::Case,
    scalings: &[(f64, f64)],
    is_adjoint: bool,
) -> Result<(), String>
where
    T::Accum: Scalar,
{
    let fail = |e: Error| e.to_string();
    // Subnormal numbers may be zeros on a device.
    let (mut a, exact) = (case.matrix.map_values(number).map_values(flushed), case.exact);
    let other = |a: &Csr<T>| if is_adjoint { a.view().adjoint() } else { a.transpose() };
    let both = match is_adjoint {
        true => context.prepare_with_adjoint(&a, &Options::default()),
        false => context.prepare_with_transpose(&a, &Options::default()),
    };
    let mut both = both.map_err(fail)?;
    let x: Vec<T> = (0..a.n_rows()).map(|i| flushed(number(input(i, exact)))).collect();
    let device_x = context.upload(&x).map_err(fail)?;
    let old = |beta: f64| -> Vec<T::Accum> {
        let of = |i| if beta == 0.0 { number(f64::NAN) } else { number(input(i, exact)) };
        (0..a.n_cols()).map(of).collect()
    };
    for &(alpha, beta) in scalings {
        let old = old(beta);
        let mut y = context.upload(&old).map_err(fail)?;
        let (factor, old_factor) = (number(alpha), number(beta));
        match is_adjoint {
            true => both.apply_adjoint(factor, &device_x, old_factor, &mut y),
            false => both.apply_transpose(factor, &device_x, old_factor, &mut y),
        }
        .map_err(fail)?;
        let first = y.to_vec().map_err(fail)?;
        let reference = oracle::multiply(other(&a).view(), number(alpha), &x, number(beta), &old);
        compare(&reference, exact, &first)
            .map_err(|e| format!("{alpha}, {beta}: {e}\n{}", both.explain()))?;
        y.write(&old).map_err(fail)?;
        let mut queue = context.queue().map_err(fail)?;
        match is_adjoint {
            true => queue.apply_adjoint(&both, factor, &device_x, old_factor, &mut y),
            false => queue.apply_transpose(&both, factor, &device_x, old_factor, &mut y),
        }
        .map_err(fail)?;
        queue.wait().map_err(fail)?;
        same_bits("in a queue", &first, &y.to_vec().map_err(fail)?)?;
    }
    // What is symmetric stays so.
    a.vals_mut().iter_mut().for_each(|v| *v = T::from_wide(v.widen() + v.widen()));
    both.set_values(a.vals()).map_err(fail)?;
    let both = if is_adjoint { both.adjoint() } else { both.transposed() };
    let y = both.and_then(|a| a.multiply(&x)).map_err(fail)?;
    let (one, zero) = (T::Wide::from_f64(1.0), T::Wide::default());
    let reference = oracle::multiply(other(&a).view(), one, &x, zero, &vec![number(0.0); a.n_cols()]);
    compare(&reference, exact, &y).map_err(|e| format!("new values: {e}"))
}

#[test]
fn the_corpus_is_multiplied_by_its_transposes() {
    let tiling = spmv::plan::Tiling::new(32, 4, 2, 1).unwrap();
    for (turn, context) in contexts().iter().enumerate() {
        for dtype in Dtype::ALL.into_iter().filter(|dtype| knows(context, *dtype)) {
            for (at, (group, matrices)) in corpus::groups().into_iter().enumerate() {
                // A third of the types for each group, in turn.
                if !spmv_conformance::is_full() && !(turn + at + dtype as usize).is_multiple_of(3) {
                    continue;
                }
                let share = Share::of(turn + at + dtype as usize);
                let cases = matrices(&tiling, share).cases;
                // Pieces of rows that overflow are another test's.
                let cases = cases.iter().enumerate().filter(|(_, case)| !case.whole_rows && case.x.is_none());
                for (i, case) in cases.step_by(if spmv_conformance::is_full() { 1 } else { 8 }) {
                    let scalings = share.next(i).part(&SCALINGS, 2);
                    let is_adjoint = (at + i / 8) % 2 == 1;
                    let checked = by_dtype!(dtype, T => check::<T>(context, case, &scalings, is_adjoint));
                    checked.unwrap_or_else(|e| {
                        panic!("{} {dtype} {group} {}: {e}", context.backend(), case.name)
                    });
                }
            }
        }
    }
}

#[test]
fn a_symmetric_matrix_is_its_own_transpose() -> spmv::Result<()> {
    let entries = [(0, 0, 2.0), (0, 2, -1.0), (1, 1, 3.0), (2, 0, -1.0), (2, 2, 2.0)];
    let a = Csr::from_coo(3, 3, &entries)?;
    let context = Context::with(BackendKind::Cpu)?;
    let mut both = context.prepare_with_transpose(&a, &Options::default())?;
    assert!(std::ptr::eq(both.transposed()?, &both) && both.explain().contains("itself, which is symmetric"));
    both.set_values(&[1.0, 5.0, 1.0, 5.0, 1.0])?;
    assert_eq!(both.transposed()?.multiply(&[1.0, 2.0, 3.0])?, [16.0, 2.0, 8.0]);
    let e = both.set_values(&[1.0, 5.0, 1.0, 6.0, 1.0]).unwrap_err();
    assert!(
        matches!(e, Error::Unsupported { .. }) && e.to_string().contains("values that are not symmetric"),
        "{e}"
    );
    assert_eq!(both.multiply(&[1.0, 2.0, 3.0])?, [16.0, 2.0, 8.0], "the old values stay");
    assert!(matches!(both.set_values(&[1.0]).unwrap_err(), Error::Length { found: 1, expected: 5, .. }));
    // Of the same structure, with other values: a transpose of its own.
    let other = Csr::from_coo(3, 3, &entries.map(|(row, col, val)| (row, col, val + f64::from(row))))?;
    let both = context.prepare_with_transpose(&other, &Options::default())?;
    assert!(
        !std::ptr::eq(both.transposed()?, &both)
            && both
                .explain()
                .contains("a copy with a plan of its own, 76 bytes as CSR; on the host 20 bytes")
    );
    Ok(())
}

#[test]
fn a_hermitian_matrix_is_its_own_conjugate_transpose() -> spmv::Result<()> {
    let (i, one) = (c64::new(0.0, 1.0), c64::new(1.0, 0.0));
    let a = Csr::from_coo(2, 2, &[(0, 0, one), (0, 1, i), (1, 0, -i)])?;
    let context = Context::with(BackendKind::Cpu)?;
    let mut both = context.prepare_with_adjoint(&a, &Options::default())?;
    assert!(std::ptr::eq(both.adjoint()?, &both), "{}", both.explain());
    both.set_values(&[one + one, -i, i])?;
    assert!(both.set_values(&[i, -i, i]).is_err(), "the diagonal is real");
    let e = both.transposed().unwrap_err().to_string();
    assert_eq!(
        e,
        "a matrix that was prepared with another one has no products by its transpose; call Context::prepare_with_transpose"
    );
    let both = context.prepare_with_transpose(&a, &Options::default())?;
    assert!(!std::ptr::eq(both.transposed()?, &both) && both.adjoint().is_err());
    assert_eq!(both.transposed()?.multiply(&[one, i])?, [one + one, i]);
    Ok(())
}

#[test]
fn what_was_prepared_by_itself_says_what_to_call() -> spmv::Result<()> {
    let context = Context::with(BackendKind::Cpu)?;
    let a = Csr::from_coo(2, 3, &[(0, 2, 1.0f64)])?;
    let (alone, both) = (context.prepare(&a)?, context.prepare_with_transpose(&a, &Options::default())?);
    let (x, mut y) = (context.upload(&[1.0, 2.0])?, context.zeros(3)?);
    let e = alone.apply_transpose(1.0, &x, 0.0, &mut y).unwrap_err();
    assert_eq!(
        e.to_string(),
        "a matrix that was prepared by itself has no products by its transpose; call Context::prepare_with_transpose"
    );
    let e = both.apply_transpose(1.0, &y, 0.0, &mut context.zeros(2)?).unwrap_err();
    assert_eq!(e, Error::Length { what: "x", found: 3, expected: 2 });
    Ok(())
}
