//! PageRank.

use spmv::{Context, CsrView, Epilogue, Matrix, Offset, Real, Scalar, Vector};

use crate::error::{Error, Result, expect};
use crate::options::{Found, Options, Report};

/// The links of a graph as PageRank multiplies them: `P`, whose entry (j, i) is one over the number of links of page i that link
/// to j, and the pages without links.
///
/// ```
/// use spmv::{Context, Csr};
/// use spmv_solvers::Links;
/// // Page 0 links to 1 and 2, page 1 to 2; page 2 has no links.
/// let links = Csr::from_coo(3, 3, &[(0, 1, 1.0f64), (0, 2, 1.0), (1, 2, 1.0)])?;
/// let links: Links<f64> = Links::new(&Context::auto()?, &links)?;
/// # Ok::<(), spmv_solvers::Error>(())
/// ```
#[derive(Debug)]
pub struct Links<A: Real + Scalar<Accum = A>> {
    transition: Matrix<A>,
    /// 1 for a page without links.
    dangling: Vector<A>,
    ones: Vector<A>,
    /// How many there are, with those of other processes.
    pages: A,
}

impl<A: Real + Scalar<Accum = A>> Links<A> {
    /// Of a matrix with an entry (i, j) for each link from page i to page j, whatever its value. O(pages + links).
    ///
    /// # Errors
    /// A matrix that is not square, and whatever preparing it says.
    pub fn new<'a, T: Scalar, O: Offset>(
        context: &Context,
        links: impl Into<CsrView<'a, T, O>>,
    ) -> Result<Self> {
        let links: CsrView<'_, T, O> = links.into();
        let n = links.n_rows();
        expect("the number of columns", links.n_cols(), n)?;
        let n_links = |page: usize| links.row_range(page).len();
        let dangling: Vec<A> =
            (0..n).map(|page| if n_links(page) == 0 { A::one() } else { A::zero() }).collect();
        let share = |page: usize| std::iter::repeat_n(A::from_f64(1.0 / n_links(page) as f64), n_links(page));
        let shares: Vec<A> = (0..n).flat_map(share).collect();
        let transition = CsrView::new(n, n, links.row_ptr(), links.cols(), &shares)?.transpose();
        Self::of_transition(context.prepare(transition.view())?, &dangling)
    }

    /// Of `P` itself, and 1 for each page without links, 0 for the others: for matrices that are in parts already.
    ///
    /// ```
    /// use spmv::{Context, Csr};
    /// use spmv_solvers::Links;
    /// // Page 0 links to 1, which has no links.
    /// let p = Context::auto()?.prepare(&Csr::from_coo(2, 2, &[(1, 0, 1.0f64)])?)?;
    /// let links = Links::of_transition(p, &[0.0, 1.0])?;
    /// # Ok::<(), spmv_solvers::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Dimension`] for a matrix that is not square and another number of pages, and failures of the device.
    pub fn of_transition(transition: Matrix<A>, dangling: &[A]) -> Result<Self> {
        let n = transition.n_rows();
        expect("the number of columns", transition.n_cols(), n)?;
        expect("the number of pages", dangling.len(), n)?;
        let dangling = transition.context().upload(dangling)?;
        let mut ones = transition.zeros_y()?;
        ones.fill(A::one())?;
        let pages = ones.dot(&ones)?;
        Ok(Self { transition, dangling, ones, pages })
    }
}

/// The rank of each page (Page et al. 1999): what `x` converges to under `x <- d*P*x + (d*s + 1 - d)/n`, where s is the sum over
/// pages without links, which link to all. It begins with equal ranks; the sum of all is 1.
///
/// Residuals are the greatest change of a rank; [`Options::relative`] is of 1/n.
///
/// ```
/// use spmv::{Context, Csr};
/// use spmv_solvers::{Links, Options, page_rank};
/// let context = Context::auto()?;
/// let links = Csr::from_coo(3, 3, &[(0, 2, 1.0f32), (1, 2, 1.0)])?;
/// let links = Links::<f64>::new(&context, &links)?;
/// let mut ranks = context.zeros(3)?;
/// page_rank(&links, 0.85, &mut ranks, &mut Options::default())?;
/// let ranks = ranks.to_vec()?;
/// assert!(ranks[2] > 2.0 * ranks[0] && (ranks.iter().sum::<f64>() - 1.0).abs() < 1e-9);
/// # Ok::<(), spmv_solvers::Error>(())
/// ```
///
/// # Errors
/// [`Error::Option`] for a damping factor d outside of 0 to 1, [`Error::Dimension`], and failures of the device.
pub fn page_rank<A: Real + Scalar<Accum = A>>(
    links: &Links<A>,
    damping: A,
    x: &mut Vector<A>,
    options: &mut Options<'_, A>,
) -> Result<Report<A>> {
    options.validate()?;
    let Links { transition, dangling, ones, pages } = links;
    let (n, one, zero) = (transition.n_rows(), A::one(), A::zero());
    expect("the length of x", x.len(), n)?;
    if !(zero..=one).contains(&damping) {
        let (what, found) = ("the damping factor", damping.widen());
        return Err(Error::Option { what, found, need: "it must be from 0 to 1" });
    }
    let share = A::from_f64(1.0 / pages.widen().max(1.0));
    let mut queue = transition.context().queue()?;
    let [lost, change] = [queue.scalar()?, queue.scalar()?];
    let mut y = transition.zeros_y()?;
    queue.fill(share, x)?;
    let mut state = (queue, x, &mut y);
    options.drive(
        &mut state,
        |(queue, x, y), _| {
            queue.record(|queue| {
                queue.dot(dangling, x, lost)?;
                queue.copy(x, y)?;
                let jumps = Epilogue::new().plus(ones);
                queue.apply_with(transition, damping, y, (one - damping) * share, x, jumps)?;
                let of_lost: spmv::Factor<A> = lost.into();
                queue.axpby(of_lost.times(damping * share), ones, one, x)?;
                Ok(())
            })
        },
        |(queue, x, y), iteration| {
            if iteration == 0 {
                return Ok(Found { residual: one, of_b: share, breakdown: None });
            }
            queue.axpby(one, x, -one, y)?;
            queue.norm_inf(y, change)?;
            Ok(Found { residual: queue.read_scalar(change)?, of_b: share, breakdown: None })
        },
    )
}
