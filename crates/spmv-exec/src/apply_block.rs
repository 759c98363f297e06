//! Products with several right-hand sides, in a queue.

use num_traits::Zero;
use spmv_backend::arguments::{PanelPack, PanelUnpack, Spmm, SpmmCarries};
use spmv_backend::{Backend, Error as DeviceError, KernelId, Memory, Scalar, Types};
use spmv_core::{Accum, Value};

use crate::block_shape::{BlockOrder, BlockShape};
use crate::blocks::{
    BlockPart, COLUMNS_OF_A_BUNCH, Panel, PanelScratch, are_iterations, helper, most_columns, panels,
    share_of, spec,
};
use crate::device::{Device, DeviceVec, bytes_of};
use crate::error::{Error, Result};
use crate::launch::{Compiled, Scaling, launch};
use crate::numbers::counted;
use crate::part::CsrArrays;
use crate::prepared::Prepared;
use crate::queue::Queue;

/// Kernels of a product.
#[derive(Debug)]
struct Kernels<B: Backend> {
    /// For each panel.
    spmm: Vec<Compiled<B>>,
    carries: Option<Compiled<B>>,
    pack: Option<Compiled<B>>,
    unpack: Option<Compiled<B>>,
}

/// How panels of a product come from X and go to Y.
#[derive(Clone, Copy, Debug)]
struct Product<A> {
    x: BlockShape,
    y: BlockShape,
    packs: bool,
    unpacks: bool,
    has_cut_rows: bool,
    most: u32,
    scaling: Scaling<A>,
}

impl<A> Product<A> {
    fn panels(&self) -> impl Iterator<Item = Panel> + Clone {
        // `checked` counted them.
        panels(self.x.columns() as u32, self.most)
    }
}

impl<B: Backend> Queue<B> {
    /// `Y <- alpha*A*X + beta*Y` for a matrix that was prepared with [`Options::blocks`](crate::Options::blocks): `X` has `n_cols` rows, `Y` has
    /// `n_rows`, both as many columns. Vectors hold the blocks in the given shapes, from their first value on, and may be longer.
    ///
    /// Each column has the sums of a product with one right-hand side, in another order; the same bits in every run. `alpha` and `beta`
    /// mean what they mean in [`apply`](Self::apply).
    ///
    /// Up to 64 columns are multiplied in one pass over the matrix, on cores up to 32. The first product of so many columns and rows allocates scratch
    /// memory, if any is needed: a panel of so many columns of X, unless it is in row-major order with a leading dimension and columns in multiples of
    /// four (cores take any); one of Y in column-major order; and sums of rows too long for one group.
    ///
    /// ```
    /// # fn with<B: spmv_backend::Backend>(device: spmv_exec::Device<B>) -> Result<(), spmv_exec::Error> {
    /// use spmv_exec::{BlockShape, Options};
    /// let a = spmv_core::Csr::from_coo(2, 3, &[(0, 2, 2.0f32), (1, 0, 3.0)])?;
    /// let a = device.prepare(a.view(), &Options { blocks: true, ..Options::default() })?;
    /// let (x, mut y) = (device.upload(&[1.0f32, 10.0, 2.0, 20.0, 3.0, 30.0])?, device.zeros::<f32>(4)?);
    /// let (of_x, of_y) = (BlockShape::row_major(3, 2), BlockShape::row_major(2, 2));
    /// device.queue()?.apply_block(&a, 1.0, (&x, of_x), 0.0, (&mut y, of_y))?;
    /// assert_eq!(y.to_vec()?, [6.0, 60.0, 3.0, 30.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `Unsupported` for a matrix that was prepared without blocks; [`Error::Shape`], [`Error::Length`], and as [`apply`](Self::apply).
    pub fn apply_block<T: Value>(
        &mut self,
        a: &Prepared<B, T>,
        alpha: T::Accum,
        (x, of_x): (&DeviceVec<B, T>, BlockShape),
        beta: T::Accum,
        (y, of_y): (&mut DeviceVec<B, T::Accum>, BlockShape),
    ) -> Result<()> {
        if !a.device().is(&self.device) {
            return Err(Error::Foreign { what: "the matrix", to: "device" });
        }
        let blocks = a.blocks.as_deref().ok_or_else(|| without_blocks(&self.device.caps().name))?;
        let product = checked(a, blocks, Scaling::new(alpha, beta), (x.len(), of_x), (y.len(), of_y))?;
        let kernels = Kernels::of(&self.device, a.plan.types, &product)?;
        if of_y.is_empty() {
            return Ok(());
        }
        self.grow(&product, blocks, bytes_of::<T>(1))?;
        self.reads("x", x)?;
        self.writes("y", y, !beta.is_zero())?;
        a.read_by(self.use_now());
        let (device, stream, scratch) = (&self.device, &self.stream, &self.panels);
        let on = On { device, stream, scratch, product: &product, kernels: &kernels };
        let ran = product.panels().zip(&kernels.spmm).try_for_each(|(panel, spmm)| {
            on.panel(a, blocks, spmm, panel, Memory::Device(&x.buffer), Memory::Device(&y.buffer))
        });
        if ran.is_err() {
            y.unrepaired = true;
            let _ = self.release();
            self.device.settle(&self.stream);
        } else {
            y.unrepaired = false;
        }
        ran
    }

    /// Makes scratch memory as large as a product needs it.
    fn grow<A>(&mut self, product: &Product<A>, blocks: &[BlockPart<B>], value: u64) -> Result<()> {
        let width = product.panels().map(|panel| u64::from(panel.width)).max().unwrap_or(0);
        let sum = size_of::<A>() as u64;
        // Kernels take some memory even where there is nothing to keep in it.
        let of = |is_needed: bool, n: u64, bytes: u64| {
            if is_needed { n.max(1).saturating_mul(width).saturating_mul(bytes) } else { 0 }
        };
        let of_rows = blocks.iter().flat_map(|part| &part.blocks);
        let n_carries = of_rows.filter(|blocks| blocks.cut.is_some()).map(|blocks| u64::from(blocks.n)).max();
        let wanted = [
            of(product.packs, product.x.n_rows() as u64, value),
            of(product.unpacks, product.y.n_rows() as u64, sum),
            of(true, n_carries.unwrap_or(0), sum),
        ];
        let PanelScratch { x, y, carries } = &self.panels;
        if [x, y, carries].iter().zip(wanted).any(|(one, bytes)| !one.holds(bytes)) {
            // What is held back may use the memory that is to be freed.
            self.release()?;
        }
        let PanelScratch { x, y, carries } = &mut self.panels;
        [x, y, carries].into_iter().zip(wanted).try_for_each(|(one, bytes)| one.grow(&self.device, bytes))
    }
}

/// Of a matrix that was prepared without blocks.
#[doc(hidden)]
pub fn without_blocks(device: &str) -> Error {
    let what = "products with several right-hand sides by a matrix that was prepared without them";
    DeviceError::unsupported(device, what, "prepare it with Options::blocks").into()
}

/// Refuses blocks that are not X and Y of a matrix with so many rows and columns.
#[doc(hidden)]
pub fn check_shapes([n_rows, n_cols]: [usize; 2], x: BlockShape, y: BlockShape) -> Result<()> {
    for (what, shape, expected) in [("X", x, (n_cols, x.columns())), ("Y", y, (n_rows, x.columns()))] {
        let found = (shape.n_rows(), shape.columns());
        if found != expected {
            return Err(Error::Shape { what, found, expected });
        }
    }
    Ok(())
}

/// Refuses what does not fit.
fn checked<B: Backend, T: Value>(
    a: &Prepared<B, T>,
    blocks: &[BlockPart<B>],
    scaling: Scaling<T::Accum>,
    (x_len, x): (usize, BlockShape),
    (y_len, y): (usize, BlockShape),
) -> Result<Product<T::Accum>> {
    let rows = a.row_stats();
    check_shapes([rows.n_rows, rows.n_cols], x, y)?;
    for (what, found, shape) in [("x", x_len, x), ("y", y_len, y)] {
        if found < shape.len() {
            return Err(Error::Length { what, found, expected: shape.len() });
        }
        counted(a.device(), shape.leading().max(shape.columns()))?;
    }
    let caps = a.device().caps();
    let (packed, sum) = (T::DTYPE.bytes(), <T::Accum as Value>::DTYPE.bytes());
    // Loads bring whole fours, but on cores.
    let in_fours = |n: usize| n.is_multiple_of(COLUMNS_OF_A_BUNCH as usize);
    let is_in_place = are_iterations(caps) || in_fours(x.leading()) && in_fours(x.columns());
    let has_cut_rows = blocks.iter().flat_map(|part| &part.blocks).any(|blocks| blocks.cut.is_some());
    let packs = x.order() == BlockOrder::ColumnMajor || !is_in_place;
    let unpacks = y.order() == BlockOrder::ColumnMajor;
    // Narrower panels where a buffer would not hold what is packed.
    let of = |is_needed: bool, n: usize, bytes: usize| if is_needed { n as u64 * bytes as u64 } else { 0 };
    let of_a_column = of(packs, x.n_rows(), packed).max(of(unpacks, y.n_rows(), sum));
    let mut most = most_columns(T::DTYPE, caps);
    while most > COLUMNS_OF_A_BUNCH && of_a_column.saturating_mul(most.into()) > caps.max_buffer_bytes {
        most /= 2;
    }
    Ok(Product { x, y, packs, unpacks, has_cut_rows, most, scaling })
}

impl<B: Backend> Kernels<B> {
    fn of<A: Accum>(device: &Device<B>, types: Types, product: &Product<A>) -> Result<Self> {
        let caps = device.caps();
        let if_needed = |is_needed: bool, id, value| {
            is_needed.then(|| device.compiled(&helper(id, value, caps))).transpose()
        };
        let Types { vector, accum: sum, .. } = types;
        let spmm = product.panels().map(|panel| device.compiled(&spec(types, panel.width, caps)));
        Ok(Self {
            spmm: spmm.collect::<Result<_>>()?,
            carries: if_needed(product.has_cut_rows, KernelId::SpmmCarries, sum)?,
            pack: if_needed(product.packs, KernelId::PanelPack, vector)?,
            unpack: if_needed(product.unpacks, KernelId::PanelUnpack, sum)?,
        })
    }
}

/// Where a product runs.
struct On<'a, B: Backend, A> {
    device: &'a Device<B>,
    stream: &'a B::Stream,
    scratch: &'a PanelScratch<B>,
    product: &'a Product<A>,
    kernels: &'a Kernels<B>,
}

/// Where a panel stands: how far its rows are apart, and its first column.
#[derive(Clone, Copy, Debug)]
struct At {
    stride: u32,
    first: u32,
}

impl<B: Backend, A: Accum> On<'_, B, A> {
    /// All launches of one panel.
    fn panel<T: Value<Accum = A>>(
        &self,
        a: &Prepared<B, T>,
        blocks: &[BlockPart<B>],
        spmm: &Compiled<B>,
        panel: Panel,
        x: Memory<'_, B>,
        y: Memory<'_, B>,
    ) -> Result<()> {
        let Self { device, stream, scratch, product, kernels } = self;
        let packed = At { stride: panel.width, first: 0 };
        let in_place = |shape: &BlockShape| At { stride: shape.leading() as u32, first: panel.first };
        let (mut of_x, mut x_at) = (x, in_place(&product.x));
        if let Some(pack) = &kernels.pack {
            let [row_stride, column_stride] = product.x.strides().map(|stride| stride as u32);
            let n_rows = counted(device, product.x.n_rows())?;
            let args = PanelPack {
                n_rows,
                columns: panel.columns,
                first_column: panel.first,
                row_stride,
                column_stride,
                width: panel.width,
                x,
                slots: Memory::Device(scratch.x.buffer()),
            };
            launch(device, stream, pack, groups_of(pack, n_rows, panel.width / COLUMNS_OF_A_BUNCH), args)?;
            (of_x, x_at) = (Memory::Device(scratch.x.buffer()), packed);
        }
        let (mut of_y, mut y_at, mut beta) = (y, in_place(&product.y), product.scaling.beta);
        if product.unpacks {
            (of_y, y_at, beta) = (Memory::Device(scratch.y.buffer()), packed, A::zero());
        }
        for (part, layout) in blocks.iter().zip(&a.parts) {
            let csr = part.own.as_ref().or_else(|| layout.csr()).expect("one of both has them");
            let beta = if part.continues { A::one() } else { beta };
            self.part(part, csr, spmm, panel, (of_x, x_at), beta, (of_y, y_at))?;
        }
        let Some(unpack) = &kernels.unpack else { return Ok(()) };
        let n_rows = counted(device, product.y.n_rows())?;
        let args = PanelUnpack {
            n_rows,
            columns: panel.columns,
            first_column: panel.first,
            column_stride: product.y.leading() as u32,
            width: panel.width,
            beta: Scalar::of(product.scaling.beta),
            packed: Memory::Device(scratch.y.buffer()),
            y,
        };
        launch(device, stream, unpack, groups_of(unpack, n_rows, panel.width / COLUMNS_OF_A_BUNCH), args)
    }

    #[allow(clippy::too_many_arguments)] // What a product has, and where each of its arrays stands.
    fn part(
        &self,
        part: &BlockPart<B>,
        csr: &CsrArrays<B>,
        spmm: &Compiled<B>,
        panel: Panel,
        (x, x_at): (Memory<'_, B>, At),
        beta: A,
        (y, y_at): (Memory<'_, B>, At),
    ) -> Result<()> {
        let Self { device, stream, scratch, product, kernels } = self;
        let alpha = Scalar::of(product.scaling.alpha);
        let blocks = &part.blocks[share_of(panel.width, device.caps())];
        let vals = csr.vals.get();
        let carries = Memory::Device(scratch.carries.buffer());
        let args = Spmm {
            row_base: part.row_base,
            columns: panel.columns,
            x_stride: x_at.stride,
            x_at: x_at.first,
            y_stride: y_at.stride,
            y_at: y_at.first,
            alpha,
            beta: Scalar::of(beta),
            row_ptr: Memory::Device(&csr.row_ptr),
            block_rows: Memory::Device(&blocks.rows),
            block_entries: Memory::Device(&blocks.entries),
            cols: Memory::Device(&csr.cols),
            vals: Memory::Device(&*vals),
            x,
            carries,
            y,
        };
        launch(device, stream, spmm, blocks.n, args)?;
        let (Some(cut), Some(kernel)) = (&blocks.cut, &kernels.carries) else { return Ok(()) };
        let args = SpmmCarries {
            row_base: part.row_base,
            n_cut: cut.n,
            width: panel.width,
            columns: panel.columns,
            y_stride: y_at.stride,
            y_at: y_at.first,
            alpha,
            beta: Scalar::of(beta),
            cut_rows: Memory::Device(&cut.rows),
            cut_blocks: Memory::Device(&cut.blocks),
            carries,
            y,
        };
        launch(device, stream, kernel, groups_of(kernel, cut.n, panel.width), args)
    }
}

/// Workgroups whose lanes cover that many rows, with several lanes for each row.
fn groups_of<B: Backend>(kernel: &Compiled<B>, n_rows: u32, lanes_of_a_row: u32) -> u32 {
    let lanes = u64::from(n_rows) * u64::from(lanes_of_a_row);
    lanes.div_ceil(u64::from(kernel.spec.tiling.group_lanes())) as u32
}
