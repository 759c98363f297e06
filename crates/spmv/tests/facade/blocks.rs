//! Several right-hand sides, as users multiply by them.

use spmv::hetero::Steering;
use spmv::plan::Algorithm;
use spmv::{BackendKind, Block, BlockShape, Context, Csr, Error, Options};
use spmv_hetero::Split;

fn with_blocks(algorithm: Algorithm) -> Options {
    Options { algorithm, blocks: true, ..Options::default() }
}

/// Rows of 2, 0 and 1, of four columns.
fn small() -> Csr<f32> {
    Csr::from_coo(3, 4, &[(0, 0, 1.0), (0, 3, 2.0), (2, 1, 3.0)]).unwrap()
}

#[test]
fn blocks_are_multiplied_by_matrices_and_transposes_on_every_device() {
    for context in Context::every(&BackendKind::ALL).0 {
        for algorithm in [Algorithm::CsrScalar, Algorithm::Sell] {
            let a = context.prepare_with_transpose(&small(), &with_blocks(algorithm)).unwrap();
            let shape = BlockShape::row_major(4, 2);
            let x = context.upload_block(&[1.0, 10.0, 2.0, 20.0, 3.0, 30.0, 4.0, 40.0], shape).unwrap();
            let mut y = context.zeros_block(BlockShape::column_major(3, 2)).unwrap();
            a.apply_block(1.0, &x, 0.0, &mut y).unwrap();
            assert_eq!(y.vector().to_vec().unwrap(), [9.0, 0.0, 6.0, 90.0, 0.0, 60.0]);
            // A result is a right-hand side of what comes next.
            let (mut back, mut queue) = (context.zeros_block(shape).unwrap(), context.queue().unwrap());
            queue.apply_block(&a, 2.0, &x, -1.0, &mut y).unwrap();
            queue.apply_block_transpose(&a, 1.0, &y, 0.0, &mut back).unwrap();
            let expected = [9.0, 90.0, 18.0, 180.0, 0.0, 0.0, 18.0, 180.0];
            assert_eq!(back.vector().to_vec().unwrap(), expected, "{algorithm}");
        }
    }
}

/// Two parts, as vectors of their own know them: transposes, queues, and new values.
#[test]
fn blocks_on_several_devices_are_multiplied_as_on_one() {
    let one = Context::with(BackendKind::Cpu).unwrap();
    let two = Context::devices(&[one.clone(), one.clone()]).unwrap();
    let multiplied = |context: &Context| {
        let mut a = context.prepare_with_transpose(&small(), &with_blocks(Algorithm::Auto)).unwrap();
        let (of_x, of_y) = (BlockShape::row_major(4, 2), BlockShape::column_major(3, 2));
        let x = context.upload_block(&[1.0, 10.0, 2.0, 20.0, 3.0, 30.0, 4.0, 40.0], of_x).unwrap();
        let (mut y, mut back) = (context.zeros_block(of_y).unwrap(), context.zeros_block(of_x).unwrap());
        let mut queue = context.queue().unwrap();
        let mut results = Vec::new();
        for factor in [1.0, 2.0] {
            a.set_values(&[factor, 2.0 * factor, 3.0]).unwrap();
            queue.apply_block(&a, 2.0, &x, factor - 1.0, &mut y).unwrap();
            queue.apply_block_transpose(&a, 1.0, &y, -1.0, &mut back).unwrap();
            // The vectors of two blocks of one shape are cut alike.
            queue.axpby(1.0, x.vector(), 1.0, back.vector_mut()).unwrap();
            results.push((y.vector().to_vec().unwrap(), back.vector().to_vec().unwrap()));
        }
        results
    };
    assert_eq!(multiplied(&two), multiplied(&one));
}

/// Of rows of length zero there is nothing to copy from the other order, on no device.
#[test]
fn a_matrix_without_columns_scales_the_result() {
    for context in Context::every(&BackendKind::ALL).0 {
        let a = Csr::from_coo(2, 0, &[]).unwrap();
        let a = context.prepare_with(&a, &with_blocks(Algorithm::Auto)).unwrap();
        let x = context.upload_block(&[0.0f32; 0], BlockShape::column_major(0, 3)).unwrap();
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let mut y = context.upload_block(&values, BlockShape::column_major(2, 3)).unwrap();
        a.apply_block(1.0, &x, 2.0, &mut y).unwrap();
        assert_eq!(y.vector().to_vec().unwrap(), values.map(|value| 2.0 * value), "{}", context.caps().name);
    }
}

#[test]
fn new_values_are_those_of_blocks_too() {
    for algorithm in [Algorithm::CsrScalar, Algorithm::Sell] {
        let context = Context::with(BackendKind::Cpu).unwrap();
        let mut a = context.prepare_with(&small(), &with_blocks(algorithm)).unwrap();
        a.set_values(&[1.0, 1.0, 5.0]).unwrap();
        let x = context.upload_block(&[1.0; 12], BlockShape::row_major(4, 3)).unwrap();
        let mut y = context.zeros_block(BlockShape::row_major(3, 3)).unwrap();
        a.apply_block(1.0, &x, 0.0, &mut y).unwrap();
        assert_eq!(y.vector().to_vec().unwrap(), [2.0, 2.0, 2.0, 0.0, 0.0, 0.0, 5.0, 5.0, 5.0]);
    }
}

#[test]
fn explain_says_what_blocks_cost() {
    let context = Context::with(BackendKind::Cpu).unwrap();
    let explained = |algorithm| context.prepare_with(&small(), &with_blocks(algorithm)).unwrap().explain();
    let (of_csr, of_sell) = (explained(Algorithm::MergePath), explained(Algorithm::Sell));
    assert!(
        of_csr.ends_with("\nblocks: the arrays of CSR that the plan runs on, and 16 bytes of row blocks")
    );
    assert!(of_sell.ends_with("\nblocks: a copy in CSR form, 40 bytes, and 16 bytes of row blocks"));
    assert!(!context.prepare(&small()).unwrap().explain().contains("blocks:"));
}

#[test]
fn co_execution_refuses_blocks_when_a_matrix_is_prepared() {
    let Ok(both) = Context::with(BackendKind::Cpu).unwrap().with_host_cores() else { return };
    let context = both.steered(Steering { split: Some(Split::by_rows(1)), ..Steering::default() });
    let refused = context.prepare_with(&small(), &with_blocks(Algorithm::Auto)).unwrap_err();
    assert!(matches!(&refused, Error::Unsupported { .. }), "{refused}");
    assert_eq!(
        refused.to_string(),
        "a context with the cores of the host has no products with several right-hand sides; use a context of one device"
    );
    let a = context.prepare(&small()).unwrap();
    let x = context.zeros_block::<f32>(BlockShape::row_major(4, 2)).unwrap();
    let mut y = context.zeros_block(BlockShape::row_major(3, 2)).unwrap();
    assert!(a.apply_block(1.0, &x, 0.0, &mut y).is_err());
}

#[test]
fn blocks_that_do_not_fit_are_refused_in_words() {
    let context = Context::with(BackendKind::Cpu).unwrap();
    let words = |result: Result<(), Error>| result.unwrap_err().to_string();
    let short = Block::new(context.zeros::<f32>(7).unwrap(), BlockShape::row_major(4, 2));
    assert_eq!(words(short.map(drop)), "the vector of a block has 7 values, not 8");
    let (with, without) = (
        context.prepare_with(&small(), &with_blocks(Algorithm::Auto)).unwrap(),
        context.prepare(&small()).unwrap(),
    );
    let x = context.zeros_block::<f32>(BlockShape::row_major(4, 2)).unwrap();
    let mut y = context.zeros_block(BlockShape::row_major(3, 3)).unwrap();
    assert_eq!(words(with.apply_block(1.0, &x, 0.0, &mut y)), "Y has 3 rows and 3 columns, not 3 and 2");
    let refused = words(without.apply_block(1.0, &x, 0.0, &mut y));
    assert!(refused.ends_with("; prepare it with Options::blocks"), "{refused}");
}
