//! The facade over every device that this machine has.

use spmv::{
    BackendKind, Context, ContextBuilder, Csr, Error, Memory, Options, Scalar, Value, bf16, f16,
    plan::{Algorithm, Fixup},
};
use spmv_exec::Sums;

/// Rows of 4, 0, 1 and 2 entries over and over.
fn matrix<T: Value>() -> Csr<T> {
    let lens = [4u32, 0, 1, 2];
    let entries = (0..200u32).flat_map(|r| {
        (0..lens[r as usize % 4]).map(move |i| (r, (r + 3 * i) % 50, T::from_f64(f64::from(1 + (r + i) % 3))))
    });
    Csr::from_coo(200, 50, &entries.collect::<Vec<_>>()).expect("valid")
}

fn check<T: Scalar + Value<Wide = f64, Accum: Value<Wide = f64>>>(
    context: &Context,
    algorithms: impl IntoIterator<Item = Algorithm>,
) -> Result<(), Error> {
    let a = matrix::<T>();
    let x: Vec<T> = (0..50).map(|i| T::from_f64(f64::from(i % 5) - 2.0)).collect();
    let rows = |r: usize| a.row_ptr()[r] as usize..a.row_ptr()[r + 1] as usize;
    let product = |e: usize| a.vals()[e].widen() * x[a.cols()[e] as usize].widen();
    let expected: Vec<f64> = (0..200).map(|r| rows(r).map(product).sum()).collect();
    for algorithm in algorithms {
        let is_repaired = algorithm.facts().is_some_and(|facts| facts.sums == Sums::Repaired);
        let fixups = [Fixup::Auto, Fixup::Host, Fixup::Device];
        for &fixup in if is_repaired { &fixups[..] } else { &fixups[..1] } {
            let options = Options { algorithm, fixup, max_blow_up: 10.0, ..Options::default() };
            let prepared = context.prepare_with(&a, &options)?;
            let y = prepared.multiply(&x)?;
            let y: Vec<f64> = y.iter().map(|v| v.widen()).collect();
            assert_eq!(y, expected, "{} {algorithm} {fixup:?} {}", context.backend(), T::DTYPE);
        }
    }
    Ok(())
}

/// Algorithms are forced on one type; others take what `Auto` does and the default of CPUs, as the conformance suite has
/// all algorithms in all types.
#[test]
fn every_device_multiplies_every_type_and_by_every_algorithm() -> Result<(), Error> {
    let (contexts, tried) = Context::every(&BackendKind::ALL);
    for tried in tried {
        // A backend that CI names must be there; the others may be absent, with a reason.
        let required = spmv_conformance::is_required(tried.backend.name());
        assert!(!required && !tried.reason.is_empty(), "{tried:?}");
        eprintln!("not tried: {}: {}", tried.backend, tried.reason);
    }
    let some = if spmv_conformance::is_full() {
        Algorithm::ALL.to_vec()
    } else {
        vec![Algorithm::Auto, Algorithm::MergePath]
    };
    for context in &contexts {
        check::<f32>(context, crate::algorithms_on(context))?;
        check::<f16>(context, some.iter().copied())?;
        check::<bf16>(context, some.iter().copied())?;
        match check::<f64>(context, some.iter().copied()) {
            Err(e @ Error::Unsupported { .. }) if e.to_string().contains("no f64 arithmetic") => {
                assert!(!spmv_conformance::is_required(context.backend().name()), "{e}");
                eprintln!("not tried: {e}");
            }
            result => result?,
        }
    }
    Ok(())
}

#[test]
fn vectors_of_another_backend_are_refused() -> Result<(), Error> {
    let (contexts, _) = Context::every(&BackendKind::ALL);
    let own = contexts.iter().find(|c| c.backend() == BackendKind::Cpu).expect("there is a CPU");
    let prepared = own.prepare(&matrix::<f32>())?;
    for other in contexts.iter().filter(|c| c.backend() != BackendKind::Cpu) {
        let (x, mut y) = (other.zeros::<f32>(50)?, own.zeros(200)?);
        let e = prepared.apply(1.0, &x, 0.0, &mut y).expect_err("x is elsewhere");
        assert!(matches!(e, Error::Foreign { what: "x", to: "backend" }), "{e}");
    }
    Ok(())
}

#[test]
fn what_was_asked_for_stands_in_the_order_of_preference() {
    let built = |builder: ContextBuilder| builder.build().unwrap();
    let context = built(Context::builder().backends(&[BackendKind::Cpu]).backends(&BackendKind::ALL));
    assert_eq!((context.backend(), context.tried().len()), (BackendKind::Cpu, 0));
    let context = built(Context::builder().backend(BackendKind::Cpu).device("CPU THREADS"));
    assert!(context.caps().name.contains("CPU threads"));
    let context = built(Context::builder().backend(BackendKind::Cpu).device(0).threads(3));
    assert_eq!(context.caps().compute_units, 3);
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let cpu = || Context::builder().backend(BackendKind::Cpu);
    let reason = |builder: ContextBuilder| match builder.build() {
        Err(Error::NoBackend { tried }) => tried[0].reason.clone(),
        other => panic!("{other:?}"),
    };
    assert!(reason(cpu().device(1)).starts_with("no device '1'; there are 0: "));
    assert_eq!(reason(cpu().threads(0)), "0 threads multiply nothing; ask for one or more");
    assert_eq!(reason(cpu().memory(Memory::Fine)), "it has one kind of memory, and fine is another's");
    #[cfg(feature = "cuda")]
    {
        let cuda = Context::builder().backend(BackendKind::Cuda).memory(Memory::Fine);
        assert_eq!(reason(cuda), "unknown kind of CUDA memory 'fine'; known: managed device");
    }
}
