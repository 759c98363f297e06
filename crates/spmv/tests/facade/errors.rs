//! What a user matches on, as a user meets it: no inner crate is named.

use spmv::{
    BackendKind, Context, Csr, CsrError, Error, Options,
    plan::{Algorithm, Tiling},
};

fn cpu() -> Context {
    Context::with(BackendKind::Cpu).expect("the CPU is always there")
}

fn small() -> Csr<f64> {
    Csr::from_coo(2, 3, &[(0, 0, 1.0), (1, 2, 2.0)]).expect("valid")
}

#[test]
fn a_vector_beyond_all_memory_is_out_of_memory() {
    let len = usize::MAX / 64;
    match cpu().zeros::<f64>(len) {
        Err(Error::OutOfMemory { bytes, .. }) => assert_eq!(bytes, 8 * len as u64),
        other => panic!("{other:?}"),
    }
}

#[test]
fn lengths_say_what_was_found_and_expected() -> Result<(), Error> {
    let a = cpu().prepare(&small())?;
    let e = a.multiply(&[1.0; 4]).unwrap_err();
    assert_eq!(e, Error::Length { what: "x", found: 4, expected: 3 });
    let mut x = cpu().zeros::<f64>(3)?;
    assert!(matches!(x.write(&[1.0]), Err(Error::Length { found: 1, expected: 3, .. })));
    Ok(())
}

#[test]
fn vectors_workspaces_and_scalars_made_elsewhere_are_foreign() -> Result<(), Error> {
    let (one, other) = (cpu(), cpu());
    let a = one.prepare(&small())?;
    let e = a.apply(1.0, &other.zeros(3)?, 0.0, &mut a.zeros_y()?).unwrap_err();
    assert_eq!(e, Error::Foreign { what: "x", to: "device" });
    let (x, mut y) = (a.zeros_x()?, a.zeros_y()?);
    let mut workspace = one.prepare(&small())?.workspace()?;
    let e = a.enqueue(&mut workspace, 1.0, &x, 0.0, &mut y).map(drop).unwrap_err();
    assert!(matches!(e, Error::Foreign { what: "the workspace", .. }), "{e}");
    let (mut q, scalar) = (one.queue()?, one.queue()?.scalar::<f64>()?);
    let e = q.read_scalar(scalar).unwrap_err();
    assert!(matches!(e, Error::Foreign { to: "queue", .. }), "{e}");
    Ok(())
}

#[test]
fn what_a_device_cannot_do_comes_with_a_way_out() -> Result<(), Error> {
    let tiling = Tiling::new(64, 64, 64, 64)?;
    let options =
        Options { algorithm: Algorithm::SpeculativeSegmentedSum, tiling: Some(tiling), ..Options::default() };
    let e = cpu().prepare_with(&small(), &options).map(drop).unwrap_err();
    assert!(matches!(&e, Error::Unsupported { way_out, .. } if !way_out.is_empty()), "{e}");
    Ok(())
}

#[test]
fn a_matrix_a_layout_and_a_tiling_that_cannot_be_have_variants() -> Result<(), Error> {
    let e = Error::from(Csr::new(2, 2, vec![0u32, 2, 1], vec![0], vec![1.0]).unwrap_err());
    assert!(matches!(e, Error::Matrix(CsrError::Decreasing { row: 2, .. })), "{e}");
    // One long row: ELL would pad all others to its length.
    let entries: Vec<_> = (0..1000).map(|c| (0, c, 1.0)).collect();
    let skewed = Csr::<f64>::from_coo(1000, 1000, &entries)?;
    let options = Options { algorithm: Algorithm::Ell, ..Options::default() };
    let e = cpu().prepare_with(&skewed, &options).map(drop).unwrap_err();
    assert!(matches!(e, Error::Layout(_)), "{e}");
    assert!(matches!(Tiling::new(0, 1, 1, 1).map_err(Error::from), Err(Error::Tiling(_))));
    Ok(())
}
