//! Values in a narrower type than vectors, as users ask for them.

use spmv::hetero::Steering;
use spmv::{BackendKind, BlockShape, Context, Csr, Dtype, Error, Options};
use spmv_hetero::Split;

/// Thirds, which every type rounds in its own way.
fn thirds() -> Csr<f64> {
    let entries = (0..40u32)
        .flat_map(|row| [row, (7 * row + 3) % 40].map(|col| (row, col, f64::from(row + col + 1) / 3.0)));
    Csr::from_coo(40, 40, &entries.collect::<Vec<_>>()).unwrap()
}

/// Powers of two and a small odd number, so that products of rounded values are exact in `f64`.
fn x() -> Vec<f64> {
    (0..40).map(|i| if i == 9 { 3.0 } else { f64::from(1 << (i % 5)) }).collect()
}

fn kept_in(values: Dtype) -> Options {
    Options { values: Some(values), ..Options::default() }
}

/// Of values rounded to `f32`.
fn expected(a: &Csr<f64>) -> Vec<f64> {
    let x = x();
    let product = |(col, val): (u32, f64)| f64::from(val as f32) * x[col as usize];
    (0..a.n_rows()).map(|row| a.row(row).map(product).sum()).collect()
}

fn has_f64(context: &Context) -> bool {
    context.caps().arithmetic.contains(Dtype::F64)
}

#[test]
fn values_are_rounded_once_and_vectors_never_on_every_device() {
    let a = thirds();
    for context in Context::every(&BackendKind::ALL).0.iter().filter(|context| has_f64(context)) {
        for algorithm in crate::algorithms_on(context) {
            let options = Options { algorithm, ..kept_in(Dtype::F32) };
            let Ok(on_device) = context.prepare_with(&a, &options) else {
                assert!(algorithm.has_own_layout(), "{algorithm}");
                continue;
            };
            assert_eq!(
                on_device.multiply(&x()).unwrap(),
                expected(&a),
                "{algorithm} on {}",
                context.caps().name
            );
            assert_eq!(on_device.plan().types.to_string(), "f32*f64+f64");
        }
    }
}

#[test]
fn transposes_blocks_queues_and_new_values_round_alike() {
    let a = thirds();
    for context in Context::every(&BackendKind::ALL).0.iter().filter(|context| has_f64(context)) {
        let options = Options { blocks: true, ..kept_in(Dtype::F32) };
        let mut on_device = context.prepare_with_transpose(&a, &options).unwrap();
        let x_block = context.upload_block(&x(), BlockShape::row_major(40, 1)).unwrap();
        let mut y_block = context.zeros_block(BlockShape::row_major(40, 1)).unwrap();
        on_device.apply_block(1.0, &x_block, 0.0, &mut y_block).unwrap();
        assert_eq!(y_block.vector().to_vec().unwrap(), expected(&a));

        let (x, mut y) = (context.upload(&x()).unwrap(), context.zeros(40).unwrap());
        let mut queue = context.queue().unwrap();
        queue.apply_transpose(&on_device, 1.0, &x, 0.0, &mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), expected(&a.transpose()));

        let mut new = thirds();
        new.vals_mut().iter_mut().for_each(|val| *val = 1.0 / *val);
        on_device.set_values(new.vals()).unwrap();
        queue.apply(&on_device, 1.0, &x, 0.0, &mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), expected(&new));
    }
}

#[test]
fn every_part_and_share_keeps_its_values_so() {
    let (a, one) = (thirds(), Context::with(BackendKind::Cpu).unwrap());
    let mut several = vec![Context::devices(&[one.clone(), one.clone(), one.clone()]).unwrap()];
    if let Ok(both) = one.with_host_cores() {
        let split = Some(Split::by_rows(17));
        several.push(both.steered(Steering { split, ..Steering::default() }));
    }
    for context in several {
        let a_there = context.prepare_with(&a, &kept_in(Dtype::F32)).unwrap();
        assert_eq!(a_there.multiply(&x()).unwrap(), expected(&a));
    }
}

#[test]
fn what_cannot_be_kept_so_is_refused_in_words() {
    let context = Context::with(BackendKind::Cpu).unwrap();
    let refused = |a: &Csr<f64>, values| context.prepare_with(a, &kept_in(values)).unwrap_err();
    let large = Csr::from_coo(1, 2, &[(0, 0, 1.0), (0, 1, -1e300)]).unwrap();
    let words = "entry 1 has the value -1e300, which is beyond f32; scale the matrix, or keep its values in a wider type";
    let e = refused(&large, Dtype::F32);
    assert_eq!(e, Error::Narrow { entry: 1, value: -1e300, dtype: Dtype::F32 });
    assert_eq!(e.to_string(), words);
    let narrow = Csr::from_coo(1, 1, &[(0, 0, 1.0f32)]).unwrap();
    let e = context.prepare_with(&narrow, &kept_in(Dtype::F64)).unwrap_err();
    assert!(
        e.to_string().ends_with(
            " has no values in f64 with vectors in f32; use values that are narrower than vectors in f32 or f64"
        ),
        "{e}"
    );
    // The same type is no change.
    let same = context.prepare_with(&narrow, &kept_in(Dtype::F32)).unwrap();
    assert_eq!(same.multiply(&[2.0]).unwrap(), [2.0]);
    let mut kept = context.prepare_with(&narrow, &kept_in(Dtype::F16)).unwrap();
    assert!(kept.explain().contains("values in f16, vectors and sums in f32"), "{}", kept.explain());
    assert!(kept.set_values(&[1e6]).is_err());
    assert_eq!(kept.multiply(&[2.0]).unwrap(), [2.0], "the old values stay");
}
