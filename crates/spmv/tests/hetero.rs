//! Pairs of an OpenCL device and the cores of the CPU against the oracle, over every cut.

use spmv_core::{Csr, Value, oracle};
use spmv_cpu::Cpu;
use spmv_exec::Device;
use spmv_hetero::{Cut, Pair, Pattern};
use spmv_opencl::{OpenCl, Options};

/// The device, or `None` where there is none and `SPMV_REQUIRE` does not name it.
fn device() -> Option<Device<OpenCl>> {
    match Options::from_env().and_then(OpenCl::open) {
        Ok(device) => Some(Device::new(device).unwrap()),
        Err(e) => {
            let required = std::env::var("SPMV_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|name| name == "opencl"), "{e}");
            eprintln!("left out: {e}");
            None
        }
    }
}

/// Quasi-diagonal, Tetris and general.
fn matrices() -> Vec<(Pattern, Csr<f64>)> {
    let n = 2000u32;
    let value = |e: u32| f64::from(e % 13) / 8.0 - 0.7;
    let matrix = |cells: Vec<(u32, u32)>| {
        let entries: Vec<_> = cells.into_iter().map(|(r, c)| (r, c, value(r * 31 + c))).collect();
        Csr::from_coo(n as usize, n as usize, &entries).unwrap()
    };
    let far = |r: u32, k: u32| (r, (r * 131 + k * k * 37 + k) % n);
    let diagonals =
        (0..n).flat_map(|r| (0..5).map(move |k| (r, (r + k).min(n - 1)))).chain((0..n).map(|r| far(r, 1)));
    let even = (0..n).flat_map(|r| (0..6).map(move |k| far(r, k)));
    let long = (0..2u32).flat_map(|r| (0..n / 2).map(move |c| (r * 70, 2 * c)));
    let uneven = (0..n / 10).flat_map(|r| (0..100).map(move |k| (r * 10, (k * 3 + r) % n)));
    vec![
        (Pattern::QuasiDiagonal, matrix(diagonals.collect())),
        (Pattern::Tetris, matrix(even.chain(long).collect())),
        (Pattern::General, matrix(uneven.collect())),
    ]
}

fn check<T: Value>(gpu: &Device<OpenCl>, cores: &Device<Cpu>) {
    for (pattern, a) in matrices() {
        assert_eq!(Pattern::of(a.view()), pattern);
        let a: Csr<T> = a.map_values(T::from_f64);
        let x: Vec<T> = (0..a.n_cols()).map(|i| T::from_f64(0.25 + (i % 7) as f64)).collect();
        let number = <T::Accum as Value>::from_f64;
        let n_rows = a.n_rows();
        let others = [Cut::Rows { n_rows: 700 }, Cut::Places { width: 3 }, Cut::Diagonals { half_width: 2 }];
        let own = Cut::of(a.view());
        let is_its = match own {
            Cut::Diagonals { .. } => pattern == Pattern::QuasiDiagonal,
            Cut::Places { .. } => pattern == Pattern::Tetris,
            Cut::Rows { .. } => pattern == Pattern::General,
        };
        assert!(is_its && own.parts(a.view())[0].nnz() * 10 >= a.nnz() * 8, "{pattern}: {own:?}");
        for cut in [own].into_iter().chain(others) {
            let pair = Pair::prepare(gpu, cores, a.view(), &cut).unwrap();
            assert!(cut != own || !pair.explain().contains("not as cut"), "{}", pair.explain());
            let mut workspace = pair.workspace().unwrap();
            for (alpha, beta) in [(1.0, 0.0), (-2.0, 3.0), (0.5, 1.0), (1.0, 0.0)] {
                let old = vec![number(if beta == 0.0 { f64::NAN } else { 1.5 }); n_rows];
                let reference = oracle::multiply(a.view(), alpha, &x, beta, &old);
                let mut y = old;
                pair.apply(&mut workspace, number(alpha), &x, number(beta), &mut y).unwrap();
                assert!(reference.error_over_bound(&y) <= 1.0, "{pattern} {cut:?} {alpha} {beta}");
            }
        }
    }
}

#[test]
fn both_sides_together_are_the_oracle() {
    let Some(gpu) = device() else { return };
    let cores = Device::new(Cpu::open(Default::default()).unwrap()).unwrap();
    check::<f32>(&gpu, &cores);
    check::<spmv_core::bf16>(&gpu, &cores);
    if gpu.caps().arithmetic.contains(spmv_core::Dtype::F64) {
        check::<f64>(&gpu, &cores);
    }
}
