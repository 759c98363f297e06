//! SciPy, in a process of Python's: conjugate gradients, and products. It times itself.

use std::cell::RefCell;
use std::rc::Rc;

use ::spmv::{BlockOrder, BlockShape, Csr, Value};
use anyhow::{Context as _, ensure};

use super::factor::Factor;
use super::python::Python;
use crate::bench::block_product::{Contestant, Problem};

/// A Python with SciPy that has read a system.
pub(crate) struct SciPy {
    python: Python,
    version: String,
}

impl SciPy {
    /// Starts `SPMV_PYTHON`, or `python3`.
    ///
    /// # Errors
    /// No such program, or one without NumPy and SciPy.
    pub(crate) fn start(a: &Csr<f64>, b: &[f64]) -> anyhow::Result<Self> {
        let row_ptr: Vec<u32> = a.row_ptr().to_vec();
        let arrays: [(&str, &[u8]); 4] = [
            ("row_ptr", bytemuck::cast_slice(&row_ptr)),
            ("cols", bytemuck::cast_slice(a.cols())),
            ("vals", bytemuck::cast_slice(a.vals())),
            ("b", bytemuck::cast_slice(b)),
        ];
        let mut python = Python::start(include_str!("scipy_cg.py"), &[], &arrays)?;
        let version = python.line()?;
        Ok(Self { python, version })
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Makes a number of iterations from zero on: seconds of one, and the result.
    ///
    /// # Errors
    /// What Python says.
    pub(crate) fn run(&mut self, n: usize) -> anyhow::Result<(f64, Vec<f64>)> {
        let seconds = self.python.ask(&n.to_string())?.parse()?;
        Ok((seconds, self.python.read("x")?))
    }
}

/// A Python with SciPy that has read a matrix, and a vector or several columns.
pub(crate) struct Product {
    python: Python,
    version: String,
    transposed: bool,
    prepare_s: f64,
}

impl Product {
    /// Starts `SPMV_PYTHON`, or `python3`. `x` is a vector, or columns of that shape, which lie close together.
    ///
    /// # Errors
    /// No such program, or one without NumPy and SciPy; a matrix that exceeds 32-bit signed indices.
    pub(crate) fn start<T: Value>(
        factor: Factor<'_, T>,
        x: &[T],
        columns: Option<BlockShape>,
    ) -> anyhow::Result<Self> {
        let Factor { a, transposed } = factor;
        let limit = i32::MAX as usize;
        ensure!(a.nnz() <= limit, "{} entries exceed the {limit} of 32-bit indices", a.nnz());
        let arrays: [(&str, &[u8]); 4] = [
            ("row_ptr", bytemuck::cast_slice(a.row_ptr())),
            ("cols", bytemuck::cast_slice(a.cols())),
            ("vals", bytemuck::cast_slice(a.vals())),
            ("x", bytemuck::cast_slice(x)),
        ];
        let of_value = if size_of::<T>() == 4 { "float32" } else { "float64" };
        let operation = if transposed { "transposed" } else { "plain" };
        let order = match columns.map(|shape| shape.order()) {
            None | Some(BlockOrder::RowMajor) => "C",
            Some(BlockOrder::ColumnMajor) => "F",
        };
        let columns = columns.map_or(0, |shape| shape.columns()).to_string();
        let [n_rows, n_cols] = [a.n_rows(), a.n_cols()].map(|n| n.to_string());
        let args = [n_rows, n_cols, of_value.into(), operation.into(), columns, order.into()];
        let mut python = Python::start(include_str!("scipy_product.py"), &args, &arrays)?;
        let first = python.line()?;
        let (version, prepare_s) = first.split_once(' ').context("a version and seconds")?;
        Ok(Self { version: version.into(), transposed, prepare_s: prepare_s.parse()?, python })
    }

    /// What it is.
    pub(crate) fn about(&self) -> String {
        let matrix = if self.transposed { "csr_matrix.T" } else { "csr_matrix" };
        format!("SciPy {}, `{matrix}.dot` timed in its own process; 1 thread", self.version)
    }

    /// Seconds that SciPy took to make its matrix of the arrays.
    pub(crate) fn prepare_s(&self) -> f64 {
        self.prepare_s
    }

    /// Makes a number of products: seconds of one.
    ///
    /// # Errors
    /// Python has ended.
    pub(crate) fn run(&mut self, n: usize) -> anyhow::Result<f64> {
        Ok(self.python.ask(&n.to_string())?.parse()?)
    }

    /// The last product.
    ///
    /// # Errors
    /// Python has ended, or there was no product.
    pub(crate) fn y<T: Value>(&mut self) -> anyhow::Result<Vec<T>> {
        self.python.ask("y")?;
        self.python.read("y")
    }
}

/// The product of a problem.
///
/// # Errors
/// As for [`Product::start`].
pub(super) fn contestant<'a, T: Value>(problem: &Problem<'a, T>) -> anyhow::Result<Contestant<'a, T>> {
    let factor = Factor { a: problem.a.view(), transposed: false };
    let product = Rc::new(RefCell::new(Product::start(factor, problem.x, Some(problem.of_x))?));
    let timed = Rc::clone(&product);
    Ok(Contestant {
        name: super::SCIPY.into(),
        run: Box::new(move |batch, _| timed.borrow_mut().run(batch)),
        result: Box::new(move || product.borrow_mut().y()),
    })
}

#[cfg(test)]
mod tests {
    use super::super::arrays::Arrays;
    use super::*;
    use crate::bench::measure::Phase;

    #[test]
    fn columns_are_read_and_written_in_either_order_where_there_is_scipy() {
        let a = Csr::from_coo(3, 2, &[(0, 0, 2.0), (0, 1, 4.0), (2, 1, 3.0)]).unwrap();
        let [by_rows, by_columns] = [[1.0, 2.0, 1.0, 0.0], [1.0, 1.0, 2.0, 0.0]];
        for (shape, x, y) in [
            (BlockShape::row_major as fn(usize, usize) -> _, by_rows, [6.0, 4.0, 0.0, 0.0, 3.0, 0.0]),
            (BlockShape::column_major, by_columns, [6.0, 0.0, 3.0, 4.0, 0.0, 0.0]),
        ] {
            let problem = Problem { a: &a, x: &x, of_x: shape(2, 2), of_y: shape(3, 2) };
            match contestant(&problem) {
                Ok(Contestant { mut run, result, .. }) => {
                    assert!(run(2, Phase::Timed).unwrap() > 0.0);
                    assert_eq!(result().unwrap(), y);
                }
                Err(e) => assert_absent(&e),
            }
        }
    }

    /// The reason is that there is no Python with SciPy.
    fn assert_absent(e: &anyhow::Error) {
        assert!(format!("{e:#}").contains("SPMV_PYTHON") || e.to_string().contains("start"), "{e:#}");
    }

    #[test]
    fn a_product_is_that_of_matrix_and_vector_where_there_is_scipy() {
        let a = Csr::from_coo(3, 2, &[(0, 0, 2.0), (0, 1, 4.0), (2, 1, 3.0)]).unwrap();
        for (transposed, sums) in [(false, &[6.0, 0.0, 3.0][..]), (true, &[2.0, 7.0])] {
            let arrays = Arrays::of(a.view(), &[1.0; 3][..5 - sums.len()], transposed);
            match Product::start(arrays.factor(), arrays.x(), None) {
                Ok(mut product) => {
                    assert!(product.run(2).unwrap() > 0.0);
                    assert_eq!(product.y::<f64>().unwrap(), sums);
                }
                Err(e) => assert_absent(&e),
            }
        }
    }
}
