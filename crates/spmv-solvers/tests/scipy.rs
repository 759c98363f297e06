//! Solutions next to those of SciPy's solvers, which `data/reference.py` archived.
//!
//! Two vectors x and z with residuals r and s are at most |A^-1|*(|r| + |s|) apart, so nothing is compared more closely than that. The
//! archive has a bound on the norm of the inverse and SciPy's residual; ours is computed here.

mod systems;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use spmv::{Context, Csr};
use spmv_io::matrix_market::Reader;
use spmv_solvers::{
    Error, Options, Report, bicgstab, conjugate_gradient, gmres, lsmr, minres, pipelined_conjugate_gradient,
};
use systems::{contexts, convection, multiplied, norm, poisson, shifted, transposed_product, wave};

/// As in `data/reference.py`.
const RELATIVE: f64 = 1e-8;
const RESTART: usize = 30;
/// Twice the iterations that SciPy was given: rounding errors of another order cost BiCGSTAB some.
const ITERATIONS: usize = 2000;

/// What our solvers are called, and SciPy's next to which each is put.
const METHODS: [(&str, &str); 7] = [
    ("conjugate_gradient", "cg"),
    ("pipelined_conjugate_gradient", "cg"),
    ("bicgstab", "bicgstab"),
    ("gmres", "gmres"),
    ("minres", "minres"),
    ("lsmr", "lsqr"),
    ("lsmr", "lsmr"),
];

/// A line of the archive.
#[derive(Clone, Debug)]
struct Archived {
    kind: String,
    matrix: String,
    solver: String,
    iterations: usize,
    shift: f64,
    b_norm: f64,
    inverse: f64,
    residual: f64,
    x_norm: f64,
    samples: [f64; 5],
}

fn archive() -> Vec<Archived> {
    let lines = include_str!("data/scipy.tsv").lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let numbers: Vec<f64> = fields[4..].iter().map(|field| field.parse().expect("a number")).collect();
        Archived {
            kind: fields[0].into(),
            matrix: fields[1].into(),
            solver: fields[2].into(),
            iterations: fields[3].parse().expect("a count"),
            shift: numbers[0],
            b_norm: numbers[1],
            inverse: numbers[2],
            residual: numbers[3],
            x_norm: numbers[4],
            samples: numbers[5..].try_into().expect("five samples"),
        }
    };
    lines.skip(1).map(row).collect()
}

/// The folder of a kind's files, if there is one.
fn folder(kind: &str) -> Option<PathBuf> {
    match kind {
        "folder" => std::env::var_os("SPMV_MATRICES").map(PathBuf::from),
        _ => Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data")),
    }
}

fn matrix(of: &Archived, folder: &Path) -> Csr<f64> {
    let a = match (&*of.kind, &*of.matrix) {
        ("generated", "laplacian") => poisson(8),
        ("generated", "shifted") => shifted(&poisson(7), -2.5),
        ("generated", "convection") => convection(7),
        (_, name) => Reader::new().read(folder.join(format!("{name}.mtx.gz"))).expect("a file of the folder"),
    };
    if of.shift == 0.0 { a } else { shifted(&a, of.shift) }
}

/// A solution, and the report.
fn solve(context: &Context, method: &str, a: &Csr<f64>, b: &[f64]) -> Result<(Vec<f64>, Report<f64>), Error> {
    let mut options =
        Options { relative: RELATIVE, max_iterations: ITERATIONS, check_every: 1, ..Options::default() };
    let (mut x, b) = (context.zeros(a.n_cols())?, context.upload(b)?);
    let report = if method == "lsmr" {
        let of = context.prepare_with_transpose(a, &spmv::Options::default())?;
        lsmr(&of, of.transposed().unwrap(), &b, &mut x, &mut options)?
    } else {
        let a = context.prepare(a)?;
        let (x, options) = (&mut x, &mut options);
        match method {
            "conjugate_gradient" => conjugate_gradient(&a, &b, x, options)?,
            "pipelined_conjugate_gradient" => pipelined_conjugate_gradient(&a, &b, x, options)?,
            "bicgstab" => bicgstab(&a, &b, x, options)?,
            "minres" => minres(&a, &b, x, options)?,
            _ => gmres(&a, RESTART, &b, x, options)?,
        }
    };
    Ok((x.to_vec()?, report))
}

fn within(what: &str, found: f64, expected: f64, bound: f64) -> Result<(), Failed> {
    // A bound that is NaN holds nothing.
    if (found - expected).abs() <= bound {
        Ok(())
    } else {
        Err(format!("{what}: {found}, not {expected} within {bound:.1e}").into())
    }
}

fn check(context: &Context, method: &str, of: &Archived, a: &Csr<f64>) -> Result<(), Failed> {
    let is_known = of.kind == "folder";
    let b = if is_known { multiplied(a, &vec![1.0; a.n_cols()]) } else { wave(a.n_rows()) };
    // Sums of n numbers in another order; b itself may be one.
    let rounding = |n: usize| n as f64 * f64::EPSILON;
    within("the norm of b", norm(&b), of.b_norm, rounding(a.nnz()) * of.b_norm)?;
    let (x, report) = solve(context, method, a, &b)?;
    if !report.has_converged() {
        return Err(format!("{report:?}").into());
    }
    let left: Vec<f64> = multiplied(a, &x).iter().zip(&b).map(|(ax, b)| b - ax).collect();
    let (residual, of_b) = match method {
        "lsmr" => (norm(&transposed_product(a, &left)), norm(&transposed_product(a, &b))),
        _ => (norm(&left), norm(&b)),
    };
    // As much as `reference.py` lets recurrences of SciPy's be wrong.
    within("the residual", residual, 0.0, 2.0 * RELATIVE * of_b)?;
    let apart = of.inverse * (residual + of.residual);
    within("the norm of x", norm(&x), of.x_norm, apart + rounding(x.len()) * of.x_norm)?;
    for (i, expected) in of.samples.into_iter().enumerate() {
        let at = i * (x.len() - 1) / 4;
        within(&format!("x[{at}]"), x[at], expected, apart)?;
    }
    if is_known && method != "lsmr" {
        let off: Vec<f64> = x.iter().map(|x| x - 1.0).collect();
        within(
            "the distance from the solution",
            norm(&off),
            0.0,
            of.inverse * (residual + rounding(a.nnz()) * of_b),
        )?;
    }
    // The same recurrences and the same way to stop; sums in another order may move it across the last step, or, after hundreds, a
    // hundredth of them.
    if method == "conjugate_gradient" && report.iterations.abs_diff(of.iterations) > 1 + of.iterations / 100 {
        return Err(format!("{} iterations, SciPy's {}", report.iterations, of.iterations).into());
    }
    Ok(())
}

/// One for each of our solvers, matrix and backend.
fn trials() -> Vec<Trial> {
    let contexts: Vec<Arc<Context>> = contexts().into_iter().map(Arc::new).collect();
    let mut matrices: HashMap<(String, String), Arc<Csr<f64>>> = HashMap::new();
    let mut trials = vec![];
    let is_full = std::env::var_os("SPMV_FULL").is_some();
    for (turn, of) in archive().into_iter().enumerate() {
        let found = folder(&of.kind);
        // By default each matrix is solved by a method on one backend, in turn.
        let is_due = |at| is_full || at % contexts.len() == turn % contexts.len();
        let methods = METHODS.iter().filter(|(_, scipy)| *scipy == of.solver);
        let on_each = methods.flat_map(|method| contexts.iter().map(move |context| (method, context)));
        for (_, ((method, _), context)) in on_each.enumerate().filter(|(at, _)| is_due(*at)) {
            let name = format!("{}/{}/{}/{method}-{}", context.backend(), of.kind, of.matrix, of.solver);
            let Some(folder) = &found else {
                let name = format!("{name}: SPMV_MATRICES names no folder of .mtx.gz files");
                trials.push(Trial::test(name, || Ok(())).with_ignored_flag(true));
                continue;
            };
            let key = (of.kind.clone(), of.matrix.clone());
            let a = Arc::clone(matrices.entry(key).or_insert_with(|| Arc::new(matrix(&of, folder))));
            let (context, of) = (Arc::clone(context), of.clone());
            trials.push(Trial::test(name, move || check(&context, method, &of, &a)));
        }
    }
    trials
}

fn main() -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), trials()).exit_code()
}
