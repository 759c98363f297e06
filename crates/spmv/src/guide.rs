//! A guide: from a first product to several devices. Each block of Rust is a test, and so is each line of `spmv` at a shell.
//!
//! # A first product
//!
//! ```rust
//! use spmv::{Context, Csr};
//!
//! // Rows and columns are counted from 0; entries of the same row and column are summed.
//! let a = Csr::from_coo(2, 3, &[(0, 0, 1.0f64), (0, 2, 2.0), (1, 1, 3.0)])?;
//! let context = Context::auto()?;
//! let a = context.prepare(&a)?;
//! assert_eq!(a.multiply(&[1.0, 10.0, 100.0])?, [201.0, 30.0]);
//! println!("{}", a.explain());
//! # Ok::<(), spmv::Error>(())
//! ```
//!
//! - A [`Csr`](crate::Csr) is a matrix in the host's memory.
//! - A [`Context`](crate::Context) is an opened device.
//! - A [`Matrix`](crate::Matrix) is laid out on that device. [`prepare`](crate::Context::prepare) costs many products; do it once.
//! - [`explain`](crate::Matrix::explain) says which algorithm runs and why.
//!
//! [`multiply`](crate::Matrix::multiply) copies `x` to the device and the result back. Iterations keep their vectors on the device:
//!
//! ```rust
//! # use spmv::{Context, Csr};
//! # let context = Context::auto()?;
//! # let a = context.prepare(&Csr::from_coo(2, 3, &[(0, 0, 1.0f64), (0, 2, 2.0), (1, 1, 3.0)])?)?;
//! let x = context.upload(&[1.0, 10.0, 100.0])?;
//! let mut y = context.zeros(2)?;
//! a.apply(1.0, &x, 0.0, &mut y)?; // y <- 1*A*x + 0*y
//! a.apply(0.5, &x, 1.0, &mut y)?;
//! assert_eq!(y.to_vec()?, [301.5, 45.0]);
//! # Ok::<(), spmv::Error>(())
//! ```
//!
//! # Matrices
//!
//! | you have | use |
//! |---|---|
//! | entries with row and column | [`Csr::from_coo`](crate::Csr::from_coo); [`Csr::from_triplets`](crate::Csr::from_triplets) takes three arrays |
//! | an iterator for each row | [`Csr::from_rows`](crate::Csr::from_rows) |
//! | the three arrays of CSR | [`CsrView::new`](crate::CsrView::new), which copies nothing |
//! | a Matrix Market file | `io::read`, feature `io` |
//! | a matrix of sprs, faer or nalgebra-sparse | `interop`, a feature each |
//!
//! Values are `f16`, `bf16`, `f32`, `f64`, `c32` or `c64`. `f32` takes about two thirds of the memory, and of the time, of `f64`.
//! With [`Options::values`](crate::Options::values) the matrix alone is narrower than its vectors, and
//! [`Context::exact_values`](crate::Context::exact_values) says in which type that rounds none of its values.
//!
//! ```rust
//! use spmv::{BlockShape, Context, CsrView, Options};
//!
//! let context = Context::auto()?;
//! let a = CsrView::new(2, 2, &[0u32, 1, 2], &[1, 0], &[2.0f64, 3.0])?;
//!
//! // Products by the transpose: prepared next to the matrix, and as fast.
//! let mut a = context.prepare_with_transpose(a, &Options { blocks: true, ..Options::default() })?;
//! let x = context.upload(&[1.0, 10.0])?;
//! let mut y = context.zeros(2)?;
//! a.apply_transpose(1.0, &x, 0.0, &mut y)?;
//! assert_eq!(y.to_vec()?, [30.0, 2.0]);
//!
//! // Several vectors at once: the matrix is read once for all of them.
//! let x = context.upload_block(&[1.0, 5.0, 10.0, 50.0], BlockShape::row_major(2, 2))?;
//! let mut y = context.zeros_block(BlockShape::row_major(2, 2))?;
//! a.apply_block(1.0, &x, 0.0, &mut y)?;
//! assert_eq!(y.vector().to_vec()?, [20.0, 100.0, 3.0, 15.0]);
//!
//! // Other values for the same entries, without a new plan.
//! a.set_values(&[4.0, 6.0])?;
//! assert_eq!(a.multiply(&[1.0, 10.0])?, [40.0, 6.0]);
//! # Ok::<(), spmv::Error>(())
//! ```
//!
//! # Devices
//!
//! [`Context::auto`](crate::Context::auto) takes a GPU if there is one, and else the CPU.
//!
//! ```rust
//! use spmv::{BackendKind, Context};
//!
//! let on_cores = Context::with(BackendKind::Cpu)?;
//! let named = Context::builder().backend(BackendKind::Cpu).threads(2).build()?;
//! let (all, others) = Context::every(&BackendKind::ALL);
//! for context in &all {
//!     println!("{}: {}", context.backend(), context.caps().name);
//! }
//! for tried in &others {
//!     println!("{}: {}", tried.backend, tried.reason);
//! }
//! # assert!(!all.is_empty() && on_cores.backend() == named.backend());
//! # Ok::<(), spmv::Error>(())
//! ```
//!
//! `SPMV_BACKEND=cuda` in the environment does the same for a program that says nothing. `SPMV_CUDA_DEVICE`, `SPMV_OPENCL_DEVICE` and
//! `SPMV_WGPU_DEVICE` name a device by its index or a part of its name.
//!
//! # Solving
//!
//! The crate [`spmv-solvers`](https://docs.rs/spmv-solvers) has conjugate gradients, MINRES, BiCGSTAB, GMRES, LSMR, PageRank and power iteration,
//! all but PageRank for complex systems too. Vectors and scalars stay on the device; the host reads a residual every ten iterations.
//!
//! ```rust
//! use spmv::{Context, Csr};
//! use spmv_solvers::{ConjugateGradient, Jacobi, Options};
//!
//! // The Laplacian of a line of 100 points.
//! let row = |i: usize| {
//!     let next_to = [i.wrapping_sub(1), i + 1].into_iter().filter(|j| *j < 100).map(|j| (j as u32, -1.0));
//!     let mut row: Vec<(u32, f64)> = next_to.chain([(i as u32, 2.0)]).collect();
//!     row.sort_by_key(|(col, _)| *col);
//!     row
//! };
//! let line = Csr::<f64>::from_rows(100, (0..100).map(row))?;
//! let context = Context::auto()?;
//! let (m, a) = (Jacobi::new(&context, &line)?, context.prepare(&line)?);
//! let (b, mut x) = (context.upload(&[1.0; 100])?, a.zeros_x()?);
//! let report = ConjugateGradient::new(&a)?.solve_with(&a, &m, &b, &mut x, &mut Options::default())?;
//! assert!(report.has_converged());
//! # Ok::<(), spmv_solvers::Error>(())
//! ```
//!
//! To write your own iteration, put its operations in a [`Queue`](crate::Queue). Operations do not wait; reading a scalar does.
//! [`Queue::record`](crate::Queue::record) makes a sequence one launch where the device can.
//!
//! # Several devices, several processes
//!
//! [`Context::devices`](crate::Context::devices) makes one context of several. Matrices are cut by rows and vectors alike; products, queues
//! and solvers stay as they are.
//!
//! ```rust
//! use spmv::{BackendKind, Context, Csr};
//!
//! let one = Context::with(BackendKind::Cpu)?;
//! let two = Context::devices(&[one.clone(), one])?; // the same one twice, to try it
//! let a = two.prepare(&Csr::from_coo(2, 2, &[(0, 1, 2.0f64), (1, 0, 3.0)])?)?;
//! assert_eq!(a.multiply(&[1.0, 10.0])?, [20.0, 3.0]);
//! # Ok::<(), spmv::Error>(())
//! ```
//!
//! [`Context::hetero`](crate::Context::hetero) shares each product between a device and the host's cores. For processes of several hosts
//! there is [`spmv-mpi`](https://github.com/spmv-rs/spmv/tree/main/crates/spmv-mpi).
//!
//! # At a shell
//!
//! `cargo install spmv-cli` installs the command `spmv`.
//!
//! ```sh
//! spmv info matrix.mtx
//! spmv time matrix.mtx
//! spmv multiply matrix.mtx --x b.mtx --output y.mtx
//! spmv solve matrix.mtx --rhs b.mtx --method cg --output x.mtx
//! spmv partition matrix.mtx -n 2
//! spmv devices
//! ```
//!
//! # In Python
//!
//! The package [`spmv`](https://github.com/spmv-rs/spmv/tree/main/python) takes matrices of SciPy: `spmv.matrix(a) @ x`,
//! `spmv.linalg.cg(a, b)`.
//!
//! # Performance
//!
//! - Build with `--release`.
//! - Prepare once. For a handful of products say so: [`Options::expected_runs`](crate::Options::expected_runs). With
//!   [`Layouts::Csr`](crate::plan::Layouts::Csr) a matrix takes no more memory than CSR does.
//! - Keep vectors on the device, and use a [`Queue`](crate::Queue) or [`enqueue`](crate::Matrix::enqueue) where several operations follow one another.
//! - Use `f32` where it is accurate enough, or narrower values ([`Options::values`](crate::Options::values)) with vectors in `f64`. Graphs
//!   without weights and stencils lose nothing by it ([`Context::exact_values`](crate::Context::exact_values)).
//! - Multiply several vectors at once ([`apply_block`](crate::Matrix::apply_block)).
//! - Give a symmetric matrix whole; [`Csr::mirrored`](crate::Csr::mirrored) makes it from a triangle. CPUs read half of a large one.
//! - Let `Context::fit` (feature `fit`), or `spmv fit`, measure the device once. From then on plans follow its own times.
//! - [`Options::tune`](crate::Options::tune) times candidates on the matrix itself. Results may then have other bits in another run, unless the choice
//!   is saved and given again.
//!
//! # Limits
//!
//! - A matrix has at most 2^32 - 1 rows and columns. Row offsets are `u32` or `u64`; a launch takes a part of a matrix that is too large for one.
//! - Structure does not change: new values are [`set_values`](crate::Matrix::set_values), new entries are a new matrix.
//! - wgpu has no `f64` on most devices; its message names backends that do.
//! - Several devices should be equally fast: each gets as many nonzeros.
//!
//! # How it works
//!
//! A plan chooses one of some fifteen algorithms from the lengths of rows and the distances between columns. The oldest here is *speculative
//! segmented sum* (Liu & Vinter 2015). It cuts the entries into pieces of equal length, whatever the rows are, and guesses that no row is empty:
//!
//! ```text
//! rows           0: a b c     1: empty     2: d e
//! entries        a  b  c  d  e
//! row starts     1  0  0  1  0         rows 1 and 2 begin at the same entry
//! sums           a+b+c    d+e          a segmented sum, on the device
//!
//! as stored      y0 = a+b+c    y1 = d+e               the guess: each sum is the next row's
//! as repaired    y0 = a+b+c    y1 = 0      y2 = d+e   pieces with empty rows, on the CPU
//! ```
//!
//! On chips where CPU and GPU share memory the repair is done in place.
//! [The algorithm, step by step](https://github.com/spmv-rs/spmv/blob/main/docs/algorithm.md) has the paper's example.
