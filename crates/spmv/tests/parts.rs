//! The corpus of `spmv-conformance` on contexts of several devices: cut in 1 to 7 parts, in every type of values, with contexts of
//! one backend and of all together. And solvers' steps on them, as users write them.

use std::sync::Arc;

use libtest_mimic::{Failed, Trial};
use spmv::plan::Tiling;
use spmv::{
    BackendKind, Block, BlockShape, Context, Csr, Dtype, Epilogue, Error, Matrix, Options, Real, Scalar,
    Value, by_dtype, oracle,
};
use spmv_conformance::{Share, absent, compare, corpus, flushed, input, is_full, same_bits};

/// How many parts are tried, in turn where not all are.
const PARTS: [usize; 5] = [1, 2, 3, 4, 7];

/// Whether `y` is `alpha*A*x + beta*old`. Some devices take subnormal numbers for zero: then each row may have been one's or the other's.
fn compare_rows<T: Scalar>(
    (a, x, old): (&Csr<T>, &[T], &[T::Accum]),
    (alpha, beta): (f64, f64),
    exact: bool,
    flushes: bool,
    y: &[T::Accum],
) -> Result<(), String> {
    let reference = oracle::multiply(a.view(), T::Wide::from_f64(alpha), x, T::Wide::from_f64(beta), old);
    let compared = compare(&reference, exact, y);
    if compared.is_ok() || !flushes {
        return compared;
    }
    let of_normal: Vec<T> = x.iter().map(|v| flushed(*v)).collect();
    let of_normal = oracle::multiply(
        a.map_values(flushed).view(),
        T::Wide::from_f64(alpha),
        &of_normal,
        T::Wide::from_f64(beta),
        old,
    );
    let row = |of: &oracle::Reference<T::Wide>, row: usize| oracle::Reference {
        y: vec![of.y[row]],
        magnitude: vec![of.magnitude[row]],
        roundings: vec![of.roundings[row]],
    };
    (0..y.len()).try_for_each(|i| {
        let y = &y[i..=i];
        let is_of = |of: &oracle::Reference<T::Wide>| compare(&row(of, i), exact, y);
        is_of(&reference).or_else(|e| is_of(&of_normal).map_err(|_| format!("row {i}: {e}")))
    })
}

/// One matrix in each of the scalings, twice, on device vectors and on slices; then with other values.
fn check<T: Scalar>(
    context: &Context,
    case: &corpus::Case,
    scalings: &[(f64, f64)],
    flushes: bool,
) -> Result<(), String> {
    let fail = |e: Error| e.to_string();
    let number = <T::Accum as Value>::from_f64;
    let (mut a, exact) = (case.matrix.map_values(T::from_f64), case.exact);
    let options = Options { blocks: true, ..Options::default() };
    let mut prepared = context.prepare_with(&a, &options).map_err(fail)?;
    for (turn, scaling) in scalings.iter().enumerate() {
        check_block(context, &prepared, (&a, case), *scaling, flushes, turn)
            .map_err(|e| format!("a block, {scaling:?}: {e}"))?;
    }
    let x: Vec<T> = (0..a.n_cols()).map(|i| T::from_f64(case.x(i))).collect();
    let device_x = context.upload(&x).map_err(fail)?;
    for &(alpha, beta) in scalings {
        let old = |i| if beta == 0.0 { number(f64::NAN) } else { number(input(i, exact)) };
        let old: Vec<_> = (0..a.n_rows()).map(old).collect();
        let case = |e: String| format!("alpha {alpha}, beta {beta}: {e}\n{}", prepared.explain());
        let run = || {
            let mut y = context.upload(&old)?;
            prepared.apply(number(alpha), &device_x, number(beta), &mut y)?;
            y.to_vec()
        };
        let first = run().map_err(fail)?;
        compare_rows((&a, &x, &old), (alpha, beta), exact, flushes, &first).map_err(case)?;
        same_bits("the second run", &first, &run().map_err(fail)?).map_err(case)?;
        let mut y = old.clone();
        prepared.apply_slices(number(alpha), &x, number(beta), &mut y).map_err(fail)?;
        same_bits("the run on slices", &first, &y).map_err(case)?;
        let mut y = context.upload(&vec![number(f64::NAN); old.len()]).map_err(fail)?;
        let (z, mut queue) = (context.upload(&old).map_err(fail)?, context.queue().map_err(fail)?);
        let of_z = Epilogue::new().plus(&z);
        queue.apply_with(&prepared, number(alpha), &device_x, number(beta), &mut y, of_z).map_err(fail)?;
        same_bits("beta*z", &first, &y.to_vec().map_err(fail)?).map_err(case)?;
    }
    a.vals_mut()
        .iter_mut()
        .enumerate()
        .for_each(|(at, v)| *v = T::from_wide(v.widen() + T::Wide::from_f64((at % 3) as f64)));
    prepared.set_values(a.vals()).map_err(fail)?;
    let y = prepared.multiply(&x).map_err(fail)?;
    let old = vec![number(0.0); a.n_rows()];
    compare_rows((&a, &x, &old), (1.0, 0.0), exact, flushes, &y).map_err(|e| format!("new values: {e}"))
}

/// A block of three columns, twice: in each order, in turn, with and without values between rows or columns, which stay.
fn check_block<T: Scalar>(
    context: &Context,
    prepared: &Matrix<T>,
    (a, case): (&Csr<T>, &corpus::Case),
    (alpha, beta): (f64, f64),
    flushes: bool,
    turn: usize,
) -> Result<(), String> {
    const COLUMNS: usize = 3;
    let fail = |e: Error| e.to_string();
    let number = <T::Accum as Value>::from_f64;
    let shape = |n_rows: usize, turn: usize| {
        let orders = [BlockShape::row_major, BlockShape::column_major];
        let shape = orders[turn % 2](n_rows, COLUMNS);
        shape.with_leading(shape.leading() + turn % 3).expect("longer")
    };
    let (of_x, of_y) = (shape(a.n_cols(), turn), shape(a.n_rows(), turn + turn / 2));
    let columns = |f: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
        let of_column = |column| (0..a.n_cols().max(a.n_rows())).map(|i| f(i, column)).collect();
        (0..COLUMNS).map(of_column).collect()
    };
    let xs = columns(&|i, column| case.x(i + 5 * column));
    let olds = columns(&|i, column| if beta == 0.0 { f64::NAN } else { input(i + column, case.exact) });
    let mut x = vec![T::from_f64(f64::NAN); of_x.len()];
    let mut y = vec![number(7.0); of_y.len()];
    for column in 0..COLUMNS {
        (0..a.n_cols()).for_each(|i| x[of_x.index(i, column)] = T::from_f64(xs[column][i]));
        (0..a.n_rows()).for_each(|i| y[of_y.index(i, column)] = number(olds[column][i]));
    }
    let on_x = context.upload_block(&x, of_x).map_err(fail)?;
    let run = || {
        let mut on_y = context.upload_block(&y, of_y)?;
        prepared.apply_block(number(alpha), &on_x, number(beta), &mut on_y)?;
        on_y.vector().to_vec()
    };
    let mut found = run().map_err(fail)?;
    same_bits("the second run", &found, &run().map_err(fail)?)?;
    for column in 0..COLUMNS {
        let x: Vec<T> = xs[column][..a.n_cols()].iter().map(|v| T::from_f64(*v)).collect();
        let old: Vec<T::Accum> = olds[column][..a.n_rows()].iter().map(|v| number(*v)).collect();
        let of_column: Vec<T::Accum> = (0..a.n_rows())
            .map(|i| std::mem::replace(&mut found[of_y.index(i, column)], number(7.0)))
            .collect();
        compare_rows((a, &x, &old), (alpha, beta), case.exact, flushes, &of_column)
            .map_err(|e| format!("column {column} of {of_x:?} and {of_y:?}: {e}"))?;
    }
    same_bits("between rows and columns", &vec![number(7.0); found.len()], &found)
}

/// As many contexts as parts, taking turns.
fn of(contexts: &[Context], n_parts: usize) -> spmv::Result<Context> {
    Context::devices(&contexts.iter().cycle().take(n_parts).cloned().collect::<Vec<_>>())
}

/// All groups of the corpus, each in one type of values, another one on more contexts; in all with `SPMV_FULL=1`.
fn of_contexts(label: &str, contexts: Vec<Context>, trials: &mut Vec<Trial>) {
    let contexts: Arc<[Context]> = contexts.into();
    let can = |dtype: Dtype| {
        let caps = contexts.iter().map(Context::caps);
        caps.clone().all(|c| c.storage.contains(dtype) && c.arithmetic.contains(dtype.accum()))
    };
    let flushes = contexts.iter().any(|context| context.caps().flushes_subnormals);
    let tiling = Tiling::new(32, 4, 2, 1).expect("a valid tiling");
    for dtype in Dtype::ALL {
        if !can(dtype) {
            let name = format!("parts-{label}/{dtype} [a device has none]");
            trials.push(Trial::test(name, || Ok(())).with_ignored_flag(true));
            continue;
        }
        for (turn, (group, matrices)) in corpus::groups().into_iter().enumerate() {
            if !is_full() && !(turn + dtype as usize + contexts.len()).is_multiple_of(Dtype::ALL.len()) {
                continue;
            }
            let contexts = Arc::clone(&contexts);
            let share = Share::of(turn + dtype as usize);
            trials.push(Trial::test(format!("parts-{label}/{dtype}/{group}"), move || {
                let group = matrices(&tiling, share);
                // Rows with ghosts are scaled in two pieces.
                for (i, case) in group.cases.iter().enumerate().filter(|(_, case)| !case.whole_rows) {
                    let scalings = group.scalings.unwrap_or_else(|| share.scalings(i, group.cases.len()));
                    for &n_parts in &share.next(i).part(&PARTS, PARTS.len()) {
                        let context = of(&contexts, n_parts)?;
                        by_dtype!(dtype, T => check::<T>(&context, case, scalings, flushes))
                            .map_err(|e| Failed::from(format!("{}, {n_parts} parts: {e}", case.name)))?;
                    }
                }
                Ok(())
            }));
        }
    }
    let contexts = Arc::clone(&contexts);
    trials.push(Trial::test(format!("parts-{label}/queue"), move || {
        for n_parts in PARTS {
            conjugate_gradients::<f32>(&of(&contexts, n_parts)?, 1e-4)?;
            if contexts.iter().all(|c| c.caps().arithmetic.contains(Dtype::F64)) {
                conjugate_gradients::<f64>(&of(&contexts, n_parts)?, 1e-9)?;
            }
        }
        Ok(())
    }));
}

/// Conjugate gradients and a program of scalars, with the same bits twice.
fn conjugate_gradients<A: Real + Scalar<Accum = A>>(context: &Context, least: f64) -> Result<(), Failed> {
    let n = 300u32;
    let entries = (0..n).flat_map(|i| {
        let near = [i.checked_sub(17), i.checked_sub(1), Some(i + 1), Some(i + 17)];
        let near = near.into_iter().flatten().filter(|j| *j < n).map(move |j| (i, j, A::from_f64(-1.0)));
        near.chain([(i, i, A::from_f64(4.5))])
    });
    let a = Csr::from_coo(n as usize, n as usize, &entries.collect::<Vec<_>>())?;
    let a = context.prepare(&a)?;
    let b: Vec<A> = (0..n).map(|i| A::from_f64(f64::from(i % 5) - 2.0)).collect();
    let run = || -> spmv::Result<(Vec<A>, A, A)> {
        let (mut x, mut r) = (context.zeros::<A>(n as usize)?, context.upload(&b)?);
        let (mut p, mut ap) = (r.try_clone()?, context.zeros::<A>(n as usize)?);
        let mut q = context.queue()?;
        let (rr, p_ap, rr_new, norm, top) = (q.scalar()?, q.scalar()?, q.scalar()?, q.scalar()?, q.scalar()?);
        let root = q.program(&[norm.set(rr.sqrt())])?;
        q.dot(&r, &r, rr)?;
        let keep = q.program(&[rr.set(rr_new)])?;
        for _ in 0..40 {
            q.record(|q| {
                q.apply(&a, A::one(), &p, A::zero(), &mut ap)?;
                q.dot(&p, &ap, p_ap)?;
                q.axpby_dot(-rr.over(p_ap), &ap, A::one(), &mut r, rr_new)?;
                q.axpy_aypx(rr.over(p_ap), &mut x, &r, rr_new.over(rr), &mut p)?;
                q.compute(keep)
            })?;
        }
        q.compute(root)?;
        q.norm_inf(&r, top)?;
        let [norm, top] = q.read_scalars([norm, top])?;
        Ok((x.to_vec()?, norm, top))
    };
    let (x, norm, top) = run()?;
    assert!(norm.widen() < least && top <= norm && top > A::zero(), "{norm} {top}");
    let (again, ..) = run()?;
    same_bits("the second run", &x, &again)?;
    Ok(())
}

fn refusals(context: &Context) -> Result<(), Failed> {
    let refused = |result: spmv::Result<Context>| result.err().map(|e| e.to_string()).unwrap_or_default();
    assert_eq!(
        refused(Context::devices(&[])),
        "a context of parts has no contexts; name at least one context"
    );
    let two = of(std::slice::from_ref(context), 2)?;
    assert!(refused(Context::devices(std::slice::from_ref(&two))).contains("contexts of one device each"));
    assert!(refused(two.with_host_cores()).contains("one device"));
    let a = two.prepare(&Csr::from_coo(3, 3, &[(0, 2, 1.0f32)])?)?;
    let (x, mut y) = (two.zeros(3)?, a.zeros_y()?);
    let elsewhere = of(std::slice::from_ref(context), 3)?.zeros(3)?;
    assert!(matches!(a.apply(1.0, &elsewhere, 0.0, &mut y), Err(Error::Foreign { .. })));
    assert!(matches!(a.apply(1.0, &context.zeros(3)?, 0.0, &mut y), Err(Error::Foreign { .. })));
    assert!(matches!(a.apply(1.0, &two.zeros(4)?, 0.0, &mut y), Err(Error::Length { what: "x", .. })));
    assert!(matches!(y.map(|_| ()), Err(Error::Unsupported { .. })));
    let shape = BlockShape::row_major(3, 2);
    let (x_block, mut y_block) = (two.zeros_block(shape)?, two.zeros_block(shape)?);
    let e = a.apply_block(1.0, &x_block, 0.0, &mut y_block).unwrap_err();
    assert!(e.to_string().contains("Options::blocks"), "{e}");
    let options = Options { blocks: true, ..Options::default() };
    let with_blocks = two.prepare_with(&Csr::from_coo(3, 3, &[(0, 2, 1.0f32)])?, &options)?;
    let taller = two.zeros_block(BlockShape::row_major(4, 2))?;
    let e = with_blocks.apply_block(1.0, &taller, 0.0, &mut y_block).unwrap_err();
    assert!(e.to_string().starts_with("X "), "{e}");
    let e = with_blocks.apply_block(1.0, &two.zeros_block(BlockShape::row_major(3, 1))?, 0.0, &mut y_block);
    assert!(e.unwrap_err().to_string().starts_with("Y "));
    // A vector is cut by its length, a block by its rows.
    let of_vector = Block::new(two.zeros(12)?, BlockShape::row_major(3, 4))?;
    let mut wide = two.zeros_block(BlockShape::row_major(3, 4))?;
    let e = with_blocks.apply_block(1.0, &of_vector, 0.0, &mut wide);
    assert!(matches!(e, Err(Error::Foreign { what: "x", .. })), "{e:?}");
    let mut workspace = a.workspace()?;
    let e = a.enqueue(&mut workspace, 1.0, &x, 0.0, &mut y).unwrap_err();
    assert!(e.to_string().contains("use a queue"), "{e}");
    let foreign = two.queue()?.scalar::<f32>()?;
    assert!(matches!(two.queue()?.axpby(foreign, &x, 0.0, &mut y), Err(Error::Foreign { .. })));
    Ok(())
}

/// Both contexts begin with the same device, so that the first part alone would take what is of the other.
fn what_is_of_other_parts_is_refused_and_changes_nothing(
    one: &Context,
    other: &Context,
) -> Result<(), Failed> {
    let two = Context::devices(&[one.clone(), one.clone()])?;
    let a = Csr::from_coo(4, 4, &[(0, 3, 2.0f32), (1, 1, 3.0), (3, 0, 4.0)])?;
    let mut y = two.upload(&[1.0f32; 4])?;
    let fewer = Context::devices(std::slice::from_ref(one))?;
    for elsewhere in
        [of(std::slice::from_ref(one), 3)?, fewer, Context::devices(&[one.clone(), other.clone()])?]
    {
        let (mine, theirs) = (two.prepare(&a)?, elsewhere.prepare(&a)?);
        let (x, foreign_x) = (two.upload(&[1.0f32; 4])?, elsewhere.upload(&[1.0f32; 4])?);
        let mut foreign_y = elsewhere.upload(&[1.0f32; 4])?;
        let (mut q, mut foreign_q) = (two.queue()?, elsewhere.queue()?);
        let s = q.scalar()?;
        let results = [
            q.scale(2.0, &mut foreign_y),
            q.fill(2.0, &mut foreign_y),
            q.axpby(1.0, &foreign_x, 1.0, &mut y),
            q.axpby(1.0, &foreign_x, 1.0, &mut foreign_y),
            q.axpby_dot_with(1.0, &x, 1.0, &mut y, &foreign_x, s),
            q.axpy_aypx(1.0, &mut y, &foreign_x, 1.0, &mut two.zeros(4)?),
            q.axpy_aypx(1.0, &mut y, &x, 1.0, &mut foreign_y),
            q.dot(&foreign_x, &foreign_x, s),
            q.dot(&x, &foreign_x, s),
            q.norm_inf(&foreign_x, s),
            q.apply(&theirs, 1.0, &x, 1.0, &mut y),
            q.apply(&theirs, 1.0, &foreign_x, 1.0, &mut foreign_y),
            q.apply(&mine, 1.0, &foreign_x, 1.0, &mut y),
            q.apply(&mine, 1.0, &x, 1.0, &mut foreign_y),
            foreign_q.apply(&mine, 1.0, &x, 1.0, &mut y),
            y.axpby(1.0, &foreign_x, 1.0),
            mine.apply(1.0, &x, 1.0, &mut foreign_y).map(|_| ()),
        ];
        for (at, result) in results.into_iter().enumerate() {
            assert!(matches!(result, Err(Error::Foreign { .. })), "request {at}: {result:?}");
        }
        assert_eq!((y.to_vec()?, foreign_y.to_vec()?), (vec![1.0; 4], vec![1.0; 4]));
    }
    // Another context of the same devices is as good.
    let again = Context::devices(&[one.clone(), one.clone()])?;
    again.prepare(&a)?.apply(1.0, &two.upload(&[1.0f32; 4])?, 1.0, &mut y)?;
    assert_eq!(y.to_vec()?, [3.0, 4.0, 1.0, 5.0]);
    Ok(())
}

fn nothing_is_multiplied_in_parts_too(context: &Context) -> Result<(), Failed> {
    let three = of(std::slice::from_ref(context), 3)?;
    for (rows, cols) in [(0, 0), (0, 5), (5, 0), (1, 1), (2, 5)] {
        let mut a = three.prepare(&Csr::<f64>::from_coo(rows, cols, &[])?)?;
        a.set_values(&[])?;
        let (x, mut y) = (three.upload(&vec![1.0; cols])?, three.upload(&vec![2.0; rows])?);
        a.apply(3.0, &x, -1.0, &mut y)?;
        assert_eq!((y.to_vec()?, a.nnz()), (vec![-2.0; rows], 0));
        let expected = [4.0 * rows as f64, if rows > 0 { 2.0 } else { 0.0 }];
        assert_eq!([y.dot(&y)?, y.norm_inf()?], expected, "{rows} rows");
        y.scale(2.0)?;
        assert_eq!(y.with(<[f64]>::len)?, rows);
    }
    Ok(())
}

/// Each thread has a queue and vectors; the matrix is shared, and outlives the context. Products of one move ghosts of the other's.
fn queues_of_several_threads_share_a_matrix(context: &Context) -> Result<(), Failed> {
    let n = 500;
    let entries = (0..n).flat_map(|i| [(i, (i * 7 + 250) % n, 2.0f32), (i, i, -1.0)]);
    let a = Csr::from_coo(n as usize, n as usize, &entries.collect::<Vec<_>>())?;
    let parts = of(std::slice::from_ref(context), 3)?;
    let prepared = parts.prepare(&a)?;
    let mut work = Vec::new();
    for thread in 0..4 {
        let x: Vec<f32> = (0..n).map(|i| ((i + thread * 13) % 11) as f32).collect();
        let reference = oracle::multiply(a.view(), 5.0, &x, 0.0, &vec![0.0; n as usize]);
        let vectors = (parts.upload(&x)?, parts.zeros::<f32>(n as usize)?);
        work.push((parts.queue()?, vectors, reference));
    }
    drop(parts);
    type Own = (spmv::Queue, (spmv::Vector<f32>, spmv::Vector<f32>), oracle::Reference);
    let run = |(mut q, (x, mut y), reference): Own| -> Result<(), Failed> {
        for _ in 0..50 {
            q.apply(&prepared, 5.0, &x, 0.0, &mut y)?;
        }
        assert!(reference.error_over_bound(&y.to_vec()?) <= 1.0);
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = work.into_iter().map(|own| scope.spawn(|| run(own))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })
}

fn one_queue_multiplies_by_two_matrices_on_the_same_vectors(context: &Context) -> Result<(), Failed> {
    let two = of(std::slice::from_ref(context), 2)?;
    let [a, b] = [[(0, 3, 2.0f64), (3, 0, 3.0)], [(1, 2, 5.0), (2, 1, 7.0)]]
        .map(|entries| two.prepare(&Csr::from_coo(4, 4, &entries)?));
    let (a, b) = (a?, b?);
    let (mut x, mut y, mut q) = (two.upload(&[1.0f64, 10.0, 100.0, 1000.0])?, two.zeros(4)?, two.queue()?);
    q.apply(&a, 1.0, &x, 0.0, &mut y)?;
    q.apply(&b, 1.0, &x, 1.0, &mut y)?;
    q.apply(&a, 1.0, &y, 0.0, &mut x)?;
    assert_eq!(y.to_vec()?, [2000.0, 500.0, 70.0, 3.0]);
    assert_eq!(x.to_vec()?, [6.0, 0.0, 0.0, 6000.0]);
    Ok(())
}

fn values_that_do_not_fit_leave_the_old_ones(context: &Context) -> Result<(), Failed> {
    let two = of(std::slice::from_ref(context), 2)?;
    let mut a = two.prepare(&Csr::from_coo(2, 2, &[(0, 0, 1.0f32), (0, 1, 2.0), (1, 0, 3.0)])?)?;
    let refused = a.set_values(&[5.0; 2]).unwrap_err();
    assert_eq!(refused, Error::Length { what: "the values", found: 2, expected: 3 });
    assert_eq!(a.multiply(&[1.0, 10.0])?, [21.0, 3.0]);
    a.set_values(&[4.0, 5.0, 6.0])?;
    assert_eq!(a.multiply(&[1.0, 10.0])?, [54.0, 6.0]);
    let lengths =
        [a.multiply(&[1.0]).unwrap_err(), a.apply_slices(1.0, &[1.0; 2], 0.0, &mut [0.0]).unwrap_err()];
    assert!(matches!(lengths, [Error::Length { what: "x", .. }, Error::Length { what: "y", .. }]));
    Ok(())
}

fn main() {
    let mut trials = Vec::new();
    let mut all = Vec::new();
    for kind in BackendKind::ALL {
        match Context::with(kind) {
            Ok(context) => {
                all.push(context.clone());
                // All together cover them, too.
                if is_full() || kind == BackendKind::Cpu {
                    of_contexts(kind.name(), vec![context], &mut trials);
                }
            }
            Err(e) => trials.push(absent(&format!("parts-{}", kind.name()), kind.name(), &e.to_string())),
        }
    }
    for context in &all {
        let name = |claim: &str| format!("parts-{}/{claim}", context.backend());
        let mut claim = |claim: &str, holds: fn(&Context) -> Result<(), Failed>| {
            let context = context.clone();
            trials.push(Trial::test(name(claim), move || holds(&context)));
        };
        claim("nothing_is_multiplied_in_parts_too", nothing_is_multiplied_in_parts_too);
        claim("queues_of_several_threads_share_a_matrix", queues_of_several_threads_share_a_matrix);
        claim(
            "one_queue_multiplies_by_two_matrices_on_the_same_vectors",
            one_queue_multiplies_by_two_matrices_on_the_same_vectors,
        );
        claim("values_that_do_not_fit_leave_the_old_ones", values_that_do_not_fit_leave_the_old_ones);
    }
    let one = all[0].clone();
    // A context of its own at least: another device, though of the same backend.
    let other = Context::with(BackendKind::Cpu).expect("the cpu backend opens");
    let (first, last) = (one.clone(), all.last().filter(|_| all.len() > 1).cloned().unwrap_or(other));
    trials.push(Trial::test("parts/what_is_of_other_parts_is_refused_and_changes_nothing", move || {
        what_is_of_other_parts_is_refused_and_changes_nothing(&first, &last)
    }));
    if all.len() > 1 {
        of_contexts("all", all, &mut trials);
    }
    trials.push(Trial::test("parts/refusals", move || refusals(&one)));
    spmv_conformance::run(trials, None)
}
