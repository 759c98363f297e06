//! Vectors and queues of every backend that opens, through the facade.

use spmv::hetero::{Split, Steering};
use spmv::{BackendKind, Context, Csr, Epilogue, Error, Options, Real, Scalar, Value, Vector, c32};

fn contexts() -> Vec<Context> {
    Context::every(&BackendKind::ALL).0
}

fn has<T: Value>(context: &Context) -> bool {
    context.caps().arithmetic.contains(T::DTYPE)
}

/// -1, 2, -1 on `n` rows.
fn poisson<T: Scalar>(n: usize) -> Csr<T> {
    let row = |row: usize| {
        let (row, n) = (row as i64, n as i64);
        let entries = [(row - 1, -1.0), (row, 2.0), (row + 1, -1.0)];
        let inside = entries.into_iter().filter(move |(col, _)| (0..n).contains(col));
        inside.map(|(col, value)| (col as u32, T::from_f64(value)))
    };
    Csr::from_rows(n, (0..n).map(row)).unwrap()
}

/// Conjugate gradients as a user writes them, generic in the type: no vector comes to the host, and no scalar but the last.
fn solve<T: Scalar<Accum = T> + Real>(context: &Context, a: &Csr<T>, b: &[T]) -> spmv::Result<(Vec<T>, T)> {
    let a = context.prepare(a)?;
    let (mut x, mut r, mut ap) = (a.zeros_x()?, context.upload(b)?, a.zeros_y()?);
    let mut p = r.try_clone()?;
    let mut q = context.queue()?;
    let mut rr = [q.scalar::<T>()?, q.scalar()?];
    let p_ap = q.scalar()?;
    q.dot(&r, &r, rr[0])?;
    for _ in 0..b.len() {
        q.apply(&a, T::one(), &p, T::zero(), &mut ap)?;
        q.dot(&p, &ap, p_ap)?;
        q.axpby(rr[0].over(p_ap), &p, T::one(), &mut x)?;
        q.axpby_dot(-rr[0].over(p_ap), &ap, T::one(), &mut r, rr[1])?;
        q.axpby(T::one(), &r, rr[1].over(rr[0]), &mut p)?;
        rr.swap(0, 1);
    }
    let left = q.read_scalar(rr[0])?;
    Ok((x.to_vec()?, left))
}

#[test]
fn a_system_is_solved_on_every_backend_without_reading_vectors() {
    for context in contexts() {
        if has::<f64>(&context) {
            let n = 30;
            let (x, _) = solve::<f64>(&context, &poisson(n), &vec![1.0; n]).unwrap();
            for (i, x) in x.iter().enumerate() {
                let exact = (i + 1) as f64 * (n - i) as f64 / 2.0;
                assert!((x - exact).abs() < 1e-9 * exact, "{}: {x} at {i}, not {exact}", context.backend());
            }
        }
        let (x, left) = solve::<f32>(&context, &poisson(12), &[1.0; 12]).unwrap();
        assert!(left < 1e-6 && (x[0] - 6.0).abs() < 1e-4, "{}: {x:?}", context.backend());
    }
}

#[test]
fn operations_on_vectors_give_what_loops_give() {
    for context in contexts() {
        let (x, y) = ([1.0f32, -5.0, 3.0], [4.0f32, 0.5, -2.0]);
        let (on_x, mut on_y) = (context.upload(&x).unwrap(), context.upload(&y).unwrap());
        assert_eq!(on_x.dot(&on_y).unwrap(), -4.5);
        assert_eq!((on_x.norm2().unwrap(), on_x.norm_inf().unwrap()), (35f32.sqrt(), 5.0));
        on_y.axpby(2.0, &on_x, 4.0).unwrap();
        assert_eq!(on_y.to_vec().unwrap(), [18.0, -8.0, -2.0]);
        let copy = on_y.try_clone().unwrap();
        on_y.hadamard(1.0, &on_x, &copy, -1.0).unwrap();
        assert_eq!(on_y.to_vec().unwrap(), [0.0, 48.0, -4.0]);
        on_y.scale(0.5).unwrap();
        on_y.copy_from(&on_x).unwrap();
        assert_eq!(on_y.to_vec().unwrap(), x);
        on_y.fill(7.0).unwrap();
        assert_eq!((on_y.to_vec().unwrap(), copy.to_vec().unwrap()), (vec![7.0; 3], vec![18.0, -8.0, -2.0]));
    }
}

#[test]
fn vectors_of_another_context_are_refused() {
    let contexts = contexts();
    let cpu = Context::with(BackendKind::Cpu).unwrap();
    let other = Context::with(BackendKind::Cpu).unwrap();
    let (x, y) = (cpu.upload(&[1.0f32]).unwrap(), other.upload(&[1.0f32]).unwrap());
    assert!(x.dot(&y).unwrap_err().to_string().contains("another device"));
    for context in contexts.iter().filter(|c| c.backend() != BackendKind::Cpu) {
        let y = context.upload(&[1.0f32]).unwrap();
        assert!(matches!(x.dot(&y), Err(Error::Foreign { to: "backend", .. })), "{}", context.backend());
    }
    let e = x.dot(&cpu.upload(&[1.0, 2.0]).unwrap()).unwrap_err();
    assert_eq!(e.to_string(), "z has 2 values, not 1");
}

#[test]
fn queues_of_co_execution_multiply_by_both() {
    let both_of = |context: &Context| {
        let split = Some(Split::by_rows(2));
        Some(context.with_host_cores().ok()?.steered(Steering { split, ..Steering::default() }))
    };
    let a = Csr::from_coo(4, 4, &[(0, 1, 2.0f64), (1, 2, 3.0), (2, 3, 4.0), (3, 0, 5.0)]).unwrap();
    for both in contexts().iter().filter(|c| has::<f64>(c)).filter_map(both_of) {
        let a = both.prepare(&a).unwrap();
        let (x, mut y) = (both.upload(&[1.0, 2.0, 3.0, 4.0]).unwrap(), both.upload(&[1.0; 4]).unwrap());
        let mut queue = both.queue().unwrap();
        let yy = queue.scalar().unwrap();
        queue.record(|queue| queue.scale(2.0, &mut y)).unwrap();
        for _ in 0..2 {
            queue.apply(&a, 1.0, &x, -1.0, &mut y).unwrap();
        }
        queue.dot(&y, &y, yy).unwrap();
        assert_eq!(queue.read_scalar(yy).unwrap(), 16.0, "{}", both.backend());
        assert_eq!((y.to_vec().unwrap(), x.with(<[f64]>::len).unwrap()), (vec![2.0; 4], 4));
        // Vectors, matrices and queues of others.
        let alone = Context::with(BackendKind::Cpu).unwrap();
        let foreign = alone.upload(&[0.0; 4]).unwrap();
        assert!(matches!(queue.apply(&a, 1.0, &foreign, 0.0, &mut y), Err(Error::Foreign { what: "x", .. })));
        assert!(matches!(a.apply(1.0, &foreign, 0.0, &mut y), Err(Error::Foreign { what: "x", .. })));
        let refused = alone.queue().unwrap().apply(&a, 1.0, &x, 0.0, &mut y);
        assert!(matches!(refused, Err(Error::Foreign { what: "the matrix", .. })));
    }
}

#[test]
fn a_queue_goes_to_another_thread() {
    for context in contexts() {
        let (x, mut queue) = (context.upload(&[2.0f32; 100]).unwrap(), context.queue().unwrap());
        let sum = std::thread::spawn(move || {
            let s = queue.scalar().unwrap();
            queue.dot(&x, &x, s).unwrap();
            queue.read_scalar(s).unwrap()
        });
        assert_eq!(sum.join().unwrap(), 400.0);
    }
}

/// Each context by itself, with the host's cores and twice, as one.
fn every_kind_of_context() -> Vec<Context> {
    let split = Split::by_rows(40);
    let mut all = contexts();
    for context in contexts() {
        let steering = Steering { split: Some(split), ..Steering::default() };
        all.extend(context.with_host_cores().map(|context| context.steered(steering)));
        all.push(Context::devices(&[context.clone(), context]).unwrap());
    }
    all
}

#[test]
fn epilogues_give_what_passes_over_vectors_give() {
    const N: usize = 97;
    for context in every_kind_of_context() {
        let a = context.prepare_with_transpose(&poisson::<f32>(N), &Options::default()).unwrap();
        let small = |i: usize| (i * 7 % 9) as f32 - 4.0;
        let x = context.upload(&(0..N).map(small).collect::<Vec<_>>()).unwrap();
        let z = context.upload(&(0..N).map(|i| small(i + 2)).collect::<Vec<_>>()).unwrap();
        let (mut y, mut expected) = (context.upload(&[f32::NAN; N]).unwrap(), z.try_clone().unwrap());
        let mut queue = context.queue().unwrap();
        queue.apply(&a, -2.0, &x, 3.0, &mut expected).unwrap();
        queue.apply_with(&a, -2.0, &x, 3.0, &mut y, Epilogue::new().plus(&z)).unwrap();
        let unbounded = expected.to_vec().unwrap();
        assert_eq!(y.to_vec().unwrap(), unbounded, "{}", a.explain());

        let clamped: Vec<f32> = unbounded.iter().map(|v| v.clamp(-5.0, 9.0)).collect();
        assert!(clamped != unbounded && clamped.iter().any(|v| (-5.0..9.0).contains(v)));
        let both = Epilogue::new().plus(&z).clamp(-5.0, 9.0);
        let transposed = a.transposed().unwrap();
        queue.apply_with(transposed, -2.0, &x, 3.0, &mut y, both).unwrap();
        assert_eq!(y.to_vec().unwrap(), clamped, "{}", a.explain());
        queue.clamp(-5.0, 9.0, &mut expected).unwrap();
        assert_eq!(expected.to_vec().unwrap(), clamped, "{}", a.explain());

        let short = context.upload(&[1.0f32]).unwrap();
        let refused = |queue: &mut spmv::Queue, y: &mut Vector<f32>, epilogue| {
            queue.apply_with(&a, 1.0, &x, 1.0, y, epilogue).unwrap_err().to_string()
        };
        let e = refused(&mut queue, &mut y, Epilogue::new().plus(&short));
        assert!(e.contains('z'), "{e}");
        let unread = queue.apply_with(&a, 1.0, &x, 0.0, &mut y, Epilogue::new().plus(&short));
        assert!(unread.unwrap_err().to_string().contains('z'), "{}", a.explain());
        for [lo, hi] in [[1.0, 0.0], [f32::NAN, 0.0], [0.0, f32::NAN]] {
            let e = refused(&mut queue, &mut y, Epilogue::new().clamp(lo, hi));
            assert!(e.contains("the lower one must be less"), "{e}");
        }
        assert_eq!(y.to_vec().unwrap(), clamped, "what is refused writes nothing");
    }
}

#[test]
fn complex_numbers_have_no_bounds() {
    for context in contexts().into_iter().filter(has::<c32>) {
        let a = context.prepare(&poisson::<c32>(3)).unwrap();
        let (x, mut y) = (a.zeros_x().unwrap(), a.zeros_y().unwrap());
        let (lo, hi) = (c32::new(0.0, 0.0), c32::new(1.0, 0.0));
        let mut queue = context.queue().unwrap();
        let e = queue.apply_with(&a, hi, &x, lo, &mut y, Epilogue::new().clamp(lo, hi)).unwrap_err();
        assert!(e.to_string().contains("complex numbers have no order"), "{e}");
        assert!(queue.clamp(lo, hi, &mut y).is_err());
    }
}
