//! The corpus of `spmv-conformance` on contexts of several devices: cut in 1 to 7 parts, in every type of values, with contexts of
//! one backend and of all together. And solvers' steps on them, as users write them.

use std::sync::Arc;

use libtest_mimic::{Failed, Trial};
use spmv::plan::Tiling;
use spmv::{BackendKind, Context, Csr, Dtype, Error, Real, Scalar, Value, by_dtype, oracle};
use spmv_conformance::{Share, absent, compare, corpus, input, is_full, same_bits};

/// How many parts are tried, in turn where not all are.
const PARTS: [usize; 5] = [1, 2, 3, 4, 7];

/// One matrix in each of the scalings, twice, on device vectors and on slices; then with other values.
fn check<T: Scalar>(context: &Context, case: &corpus::Case, scalings: &[(f64, f64)]) -> Result<(), String> {
    let fail = |e: Error| e.to_string();
    let number = <T::Accum as Value>::from_f64;
    let (mut a, exact) = (case.matrix.map_values(T::from_f64), case.exact);
    let mut prepared = context.prepare(&a).map_err(fail)?;
    let x: Vec<T> = (0..a.n_cols()).map(|i| T::from_f64(case.x(i))).collect();
    let device_x = context.upload(&x).map_err(fail)?;
    for &(alpha, beta) in scalings {
        let old = |i| if beta == 0.0 { number(f64::NAN) } else { number(input(i, exact)) };
        let old: Vec<_> = (0..a.n_rows()).map(old).collect();
        let reference = oracle::multiply(a.view(), alpha, &x, beta, &old);
        let case = |e: String| format!("alpha {alpha}, beta {beta}: {e}\n{}", prepared.explain());
        let run = || {
            let mut y = context.upload(&old)?;
            prepared.apply(number(alpha), &device_x, number(beta), &mut y)?;
            y.to_vec()
        };
        let first = run().map_err(fail)?;
        compare(&reference, exact, &first).map_err(case)?;
        same_bits("the second run", &first, &run().map_err(fail)?).map_err(case)?;
        let mut y = old.clone();
        prepared.apply_slices(number(alpha), &x, number(beta), &mut y).map_err(fail)?;
        same_bits("the run on slices", &first, &y).map_err(case)?;
    }
    a.vals_mut().iter_mut().enumerate().for_each(|(at, v)| *v = T::from_f64(v.as_f64() + (at % 3) as f64));
    prepared.set_values(a.vals()).map_err(fail)?;
    let reference = oracle::multiply(a.view(), 1.0, &x, 0.0, &vec![number(0.0); a.n_rows()]);
    let y = prepared.multiply(&x).map_err(fail)?;
    compare(&reference, exact, &y).map_err(|e| format!("new values: {e}"))
}

/// As many contexts as parts, taking turns.
fn of(contexts: &[Context], n_parts: usize) -> spmv::Result<Context> {
    Context::devices(&contexts.iter().cycle().take(n_parts).cloned().collect::<Vec<_>>())
}

/// All groups of the corpus in all types of values.
fn of_contexts(label: &str, contexts: Vec<Context>, trials: &mut Vec<Trial>) {
    let contexts: Arc<[Context]> = contexts.into();
    let can = |dtype: Dtype| {
        let caps = contexts.iter().map(Context::caps);
        caps.clone().all(|c| c.storage.contains(dtype) && c.arithmetic.contains(dtype.accum()))
    };
    let tiling = Tiling::new(32, 4, 2, 1).expect("a valid tiling");
    for dtype in Dtype::ALL {
        if !can(dtype) {
            let name = format!("parts-{label}/{dtype} [a device has none]");
            trials.push(Trial::test(name, || Ok(())).with_ignored_flag(true));
            continue;
        }
        for (turn, (group, matrices)) in corpus::groups().into_iter().enumerate() {
            let contexts = Arc::clone(&contexts);
            let share = Share::of(turn + dtype as usize);
            trials.push(Trial::test(format!("parts-{label}/{dtype}/{group}"), move || {
                let group = matrices(&tiling, share);
                // Rows with ghosts are scaled in two pieces.
                for (i, case) in group.cases.iter().enumerate().filter(|(_, case)| !case.whole_rows) {
                    let scalings = group.scalings.unwrap_or_else(|| share.scalings(i, group.cases.len()));
                    for &n_parts in &share.next(i).part(&PARTS, PARTS.len()) {
                        let context = of(&contexts, n_parts)?;
                        by_dtype!(dtype, T => check::<T>(&context, case, scalings))
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
    assert!(norm.as_f64() < least && top <= norm && top > A::zero(), "{norm} {top}");
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
    assert!(refused(Context::devices(&[two.clone()])).contains("contexts of one device each"));
    assert!(refused(two.with_host_cores()).contains("one device"));
    let a = two.prepare(&Csr::from_coo(3, 3, &[(0, 2, 1.0f32)])?)?;
    let (x, mut y) = (two.zeros(3)?, a.zeros_y()?);
    let elsewhere = of(std::slice::from_ref(context), 3)?.zeros(3)?;
    assert!(matches!(a.apply(1.0, &elsewhere, 0.0, &mut y), Err(Error::Foreign { .. })));
    assert!(matches!(a.apply(1.0, &context.zeros(3)?, 0.0, &mut y), Err(Error::Foreign { .. })));
    assert!(matches!(a.apply(1.0, &two.zeros(4)?, 0.0, &mut y), Err(Error::Length { what: "x", .. })));
    assert!(matches!(y.map(|_| ()), Err(Error::Unsupported { .. })));
    let mut workspace = a.workspace()?;
    let e = a.enqueue(&mut workspace, 1.0, &x, 0.0, &mut y).unwrap_err();
    assert!(e.to_string().contains("use a queue"), "{e}");
    let foreign = two.queue()?.scalar::<f32>()?;
    assert!(matches!(two.queue()?.axpby(foreign, &x, 0.0, &mut y), Err(Error::Foreign { .. })));
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
    let one = all[0].clone();
    if all.len() > 1 {
        of_contexts("all", all, &mut trials);
    }
    trials.push(Trial::test("parts/refusals", move || refusals(&one)));
    spmv_conformance::run(trials, None)
}
