//! Several vectors on the device, and products with all of them at once.

use spmv_core::Value;
use spmv_exec::{BlockShape, Options};

use crate::context::Context;
use crate::erased::{Element, Scalar};
use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::queue::Queue;
use crate::vector::Vector;

/// Several vectors of one length on the device, as the columns of a dense matrix: the right-hand sides of a product, or its results.
///
/// [Several devices](Context::devices) cut a block by rows, as matrices and vectors. Make it there by [`Context::zeros_block`] or
/// [`Context::upload_block`]: a vector that [`Block::new`] takes was cut by its length.
///
/// ```
/// use spmv::{BlockShape, Context, Csr, Options};
/// let context = Context::auto()?;
/// let options = Options { blocks: true, ..Options::default() };
/// let a = context.prepare_with(&Csr::from_coo(2, 3, &[(0, 2, 2.0f64), (1, 0, 3.0)])?, &options)?;
/// let x = context.upload_block(&[1.0, 10.0, 2.0, 20.0, 3.0, 30.0], BlockShape::row_major(3, 2))?;
/// let mut y = context.zeros_block(BlockShape::row_major(2, 2))?;
/// a.apply_block(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.vector().to_vec()?, [6.0, 60.0, 3.0, 30.0]);
/// # Ok::<(), spmv::Error>(())
/// ```
#[derive(Debug)]
pub struct Block<T: Value> {
    vector: Vector<T>,
    shape: BlockShape,
}

impl<T: Value> Block<T> {
    /// A block in memory that a vector has already, from its first value on; the vector may be longer.
    ///
    /// ```
    /// use spmv::{Block, BlockShape, Context};
    /// let vector = Context::auto()?.upload(&[1.0f32, 2.0, 3.0, 4.0])?;
    /// let block = Block::new(vector, BlockShape::column_major(2, 2))?;
    /// assert_eq!((block.shape().columns(), block.into_vector().len()), (2, 4));
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// A vector that is too short.
    pub fn new(vector: Vector<T>, shape: BlockShape) -> Result<Self> {
        check_len(vector.len(), shape)?;
        Ok(Self { vector, shape })
    }

    /// Rows, columns and how they stand in the [`vector`](Self::vector).
    pub fn shape(&self) -> BlockShape {
        self.shape
    }

    /// All values, and those between rows or columns.
    pub fn vector(&self) -> &Vector<T> {
        &self.vector
    }

    /// As [`vector`](Self::vector), to be written or computed with.
    pub fn vector_mut(&mut self) -> &mut Vector<T> {
        &mut self.vector
    }

    /// The memory, as a vector.
    pub fn into_vector(self) -> Vector<T> {
        self.vector
    }
}

/// Refuses memory that is too short for a block.
fn check_len(found: usize, shape: BlockShape) -> Result<()> {
    match shape.len() {
        expected if found < expected => {
            Err(spmv_exec::Error::Length { what: "the vector of a block", found, expected }.into())
        }
        _ => Ok(()),
    }
}

impl Context {
    /// A block of zeros on the device.
    ///
    /// # Errors
    /// Out of memory.
    pub fn zeros_block<T: Element>(&self, shape: BlockShape) -> Result<Block<T>> {
        Ok(Block { vector: Vector::zeros_block(&self.origin, shape, shape.len())?, shape })
    }

    /// A copy of a block on the device. `values` has as many as [`BlockShape::len`] says, or more, which are copied too.
    ///
    /// # Errors
    /// Fewer values, and out of memory.
    pub fn upload_block<T: Element>(&self, values: &[T], shape: BlockShape) -> Result<Block<T>> {
        check_len(values.len(), shape)?;
        let mut block = Block { vector: Vector::zeros_block(&self.origin, shape, values.len())?, shape };
        block.vector.write(values)?;
        Ok(block)
    }

    /// Refuses options that a context of this kind has no products for.
    pub(crate) fn check_blocks(&self, options: &Options) -> Result<()> {
        if !options.blocks || self.cores().is_none() {
            return Ok(());
        }
        Err(Error::Unsupported {
            device: "a context with the cores of the host".into(),
            what: "products with several right-hand sides".into(),
            way_out: "use a context of one device".into(),
        })
    }
}

impl<T: Scalar> Matrix<T> {
    /// `Y <- alpha*A*X + beta*Y` for several right-hand sides, of a matrix that was prepared with [`Options::blocks`]: `X` has `n_cols` rows,
    /// `Y` has `n_rows`, both as many columns. Waits; [`Queue::apply_block`] does not.
    ///
    /// The matrix is read once for up to 64 columns, on cores 32, so that this is faster than as many products. Row-major order is the fastest, on GPUs
    /// with columns and a leading dimension in multiples of four: any other is copied, so many columns at a time, to scratch memory that
    /// the first product allocates. Each column has the same bits in every run. `alpha` and `beta` mean what they mean in
    /// [`apply`](Self::apply).
    ///
    /// On several devices, and with peers, rows of `X` are the ghosts. Memory for them is kept for blocks of the last shape.
    ///
    /// ```
    /// use spmv::{BlockShape, Context, Csr, Options};
    /// let context = Context::auto()?;
    /// let options = Options { blocks: true, ..Options::default() };
    /// let a = context.prepare_with(&Csr::from_coo(1, 2, &[(0, 1, 2.0f32)])?, &options)?;
    /// // Columns next to each other, one value apart.
    /// let of_y = BlockShape::column_major(1, 3).with_leading(2)?;
    /// let x = context.upload_block(&[0.0, 1.0, 0.0, 2.0, 0.0, 3.0], BlockShape::column_major(2, 3))?;
    /// let mut y = context.upload_block(&[1.0, 7.0, 1.0, 7.0, 1.0], of_y)?;
    /// a.apply_block(1.0, &x, -1.0, &mut y)?;
    /// assert_eq!(y.vector().to_vec()?, [1.0, 7.0, 3.0, 7.0, 5.0]);
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Unsupported` for a matrix that was prepared without blocks; blocks of another shape or context, sums that were never repaired,
    /// failures of the device.
    pub fn apply_block(
        &self,
        alpha: T::Accum,
        x: &Block<T>,
        beta: T::Accum,
        y: &mut Block<T::Accum>,
    ) -> Result<()> {
        let (x, y) = ((&*x.vector.erased, x.shape), (&mut *y.vector.erased, y.shape));
        self.context().origin.run(|queue| T::products(queue).apply_block(self.erased(), alpha, x, beta, y))
    }

    /// `Y <- alpha*A^T*X + beta*Y`, of a matrix that was [prepared with its transpose](Context::prepare_with_transpose) and
    /// [`Options::blocks`]: `X` has `n_rows` rows, `Y` has `n_cols`.
    ///
    /// # Errors
    /// As [`apply_block`](Self::apply_block) and [`transposed`](Self::transposed).
    pub fn apply_block_transpose(
        &self,
        alpha: T::Accum,
        x: &Block<T>,
        beta: T::Accum,
        y: &mut Block<T::Accum>,
    ) -> Result<()> {
        self.transposed()?.apply_block(alpha, x, beta, y)
    }

    /// The same by the conjugate transpose, of a matrix that was [prepared with it](Context::prepare_with_adjoint).
    ///
    /// # Errors
    /// As [`apply_block`](Self::apply_block) and [`adjoint`](Self::adjoint).
    pub fn apply_block_adjoint(
        &self,
        alpha: T::Accum,
        x: &Block<T>,
        beta: T::Accum,
        y: &mut Block<T::Accum>,
    ) -> Result<()> {
        self.adjoint()?.apply_block(alpha, x, beta, y)
    }
}

impl Queue {
    /// `Y <- alpha*A*X + beta*Y`, as [`Matrix::apply_block`], in order and without waiting.
    ///
    /// # Errors
    /// As [`Matrix::apply_block`].
    pub fn apply_block<T: Scalar>(
        &mut self,
        a: &Matrix<T>,
        alpha: T::Accum,
        x: &Block<T>,
        beta: T::Accum,
        y: &mut Block<T::Accum>,
    ) -> Result<()> {
        let (x, y) = ((&*x.vector.erased, x.shape), (&mut *y.vector.erased, y.shape));
        Ok(T::products(self.erased()).apply_block(a.erased(), alpha, x, beta, y)?)
    }

    /// `Y <- alpha*A^T*X + beta*Y`, as [`Matrix::apply_block_transpose`].
    ///
    /// # Errors
    /// As [`Matrix::apply_block_transpose`].
    pub fn apply_block_transpose<T: Scalar>(
        &mut self,
        a: &Matrix<T>,
        alpha: T::Accum,
        x: &Block<T>,
        beta: T::Accum,
        y: &mut Block<T::Accum>,
    ) -> Result<()> {
        self.apply_block(a.transposed()?, alpha, x, beta, y)
    }
}
