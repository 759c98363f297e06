"""Solvers whose vectors stay on the device of the matrix.

They take the arguments of `scipy.sparse.linalg` and return `(x, info)` as those do: `info` is 0 where the residual is small enough, else
how many iterations were made. They stop where `norm(b - A @ x) <= max(rtol * norm(b), atol)`. A method that cannot go on raises
`spmv.BreakdownError`.

`a` is what `spmv.matrix` gives, or a sparse matrix that is prepared for this one call. `b` and `x0` are rounded to its type. `M` is what
`jacobi` or `block_jacobi` give, or a matrix that approximates the inverse.

The host reads the residual every `check_every` iterations. `callback` is called then, with the number of iterations and the norm of
the residual (`Progress`), not with `x`, which stays on the device. If it returns true, the solver stops. Ctrl-C ends a solver at a check.
"""

import numpy as np

from . import _arrays, _cuda, _spmv
from ._matrix import matrix
from ._spmv import Matrix, Outcome, Preconditioner, Progress

__all__ = [
    "Outcome",
    "Preconditioner",
    "Progress",
    "bicgstab",
    "block_jacobi",
    "cg",
    "gmres",
    "jacobi",
    "lsmr",
    "minres",
    "solve",
]


def _prepared(a, device=None):
    if isinstance(a, Matrix):
        return a
    if hasattr(a, "tocsr") or isinstance(a, tuple):
        return matrix(a, device=device)
    raise TypeError(
        f"{type(a).__name__} is no sparse matrix; solvers of spmv take spmv.matrix(..) or what it takes, those of SciPy take any operator"
    )


def solve(
    a,
    b,
    *,
    method="cg",
    x0=None,
    rtol=1e-5,
    atol=0.0,
    maxiter=None,
    restart=None,
    M=None,
    callback=None,
    check_every=10,
):
    """Solves `A @ x = b` by a method of this module, and says what it did: an `Outcome` with the solution, iterations and residuals.

    >>> import numpy as np, scipy.sparse, spmv
    >>> a = spmv.matrix(scipy.sparse.diags_array([2.0, 4.0]).tocsr())
    >>> spmv.linalg.solve(a, np.array([2.0, 8.0])).x
    array([1., 2.])
    """
    a = _prepared(a)
    if M is not None and not isinstance(M, Preconditioner):
        if method == "lsmr":
            raise TypeError("lsmr takes no preconditioner")
        M = _prepared(M, a.device)
    on_device = _cuda.operand(b, a.dtype, "b")
    if on_device is not None:
        b = on_device[0]
        if tuple(on_device[2]) != (a.shape[0],):
            raise ValueError(f"b has shape {tuple(on_device[2])}, not ({a.shape[0]},)")
        x = _cuda.solution(b, x0, a.shape[1], a.dtype)[0]
    else:
        b = _vector(b, a.dtype, "b", a.shape[0])
        x = np.zeros(a.shape[1], dtype=a.dtype)
        if x0 is not None:
            x[:] = _vector(x0, a.dtype, "x0", a.shape[1])
    n = max(a.shape)
    return _spmv._solve(
        method,
        a,
        b,
        x,
        rtol=float(rtol),
        atol=float(atol),
        maxiter=10 * n if maxiter is None else int(maxiter),
        check_every=int(check_every),
        restart=min(20, max(n, 1)) if restart is None else int(restart),
        m=M,
        callback=callback,
    )


def _vector(v, dtype, what, n):
    v = _arrays._checked(v, np.result_type(dtype, np.float64), what)
    if v.shape not in ((n,), (n, 1)):
        raise ValueError(f"{what} has shape {v.shape}, not ({n},)")
    return np.ascontiguousarray(v.reshape(n), dtype=dtype)


def _as_scipy(did):
    return did.x, 0 if did.converged else did.iterations


def _solver(name, text):
    def solver(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None, check_every=10):
        did = solve(
            A,
            b,
            method=name,
            x0=x0,
            rtol=rtol,
            atol=atol,
            maxiter=maxiter,
            M=M,
            callback=callback,
            check_every=check_every,
        )
        return _as_scipy(did)

    solver.__name__ = solver.__qualname__ = name
    solver.__doc__ = text
    return solver


cg = _solver("cg", "Conjugate gradients, for a positive definite matrix, symmetric or Hermitian.")
bicgstab = _solver("bicgstab", "The stabilised biconjugate gradient method, for any square matrix.")
minres = _solver("minres", "The minimal residual method, for a symmetric real or Hermitian matrix.")


def gmres(A, b, x0=None, *, rtol=1e-5, atol=0.0, restart=None, maxiter=None, M=None, callback=None, check_every=10):
    """The generalised minimal residual method with a restart after `restart` iterations (20), for any square matrix.

    `maxiter` counts iterations, not restarts.
    """
    did = solve(
        A,
        b,
        method="gmres",
        x0=x0,
        rtol=rtol,
        atol=atol,
        maxiter=maxiter,
        restart=restart,
        M=M,
        callback=callback,
        check_every=check_every,
    )
    return _as_scipy(did)


def lsmr(A, b, x0=None, *, rtol=1e-6, atol=0.0, maxiter=None, callback=None, check_every=10):
    """Least squares by LSMR, for a matrix of any shape: finds `x` for which `norm(b - A @ x)` is least.

    Tolerances are of `norm(A.H @ (b - A @ x))`. Unlike SciPy's, it returns `(x, info)`.
    """
    did = solve(
        A, b, method="lsmr", x0=x0, rtol=rtol, atol=atol, maxiter=maxiter, callback=callback, check_every=check_every
    )
    return _as_scipy(did)


def jacobi(A, *, device=None):
    """The inverse of the diagonal of a matrix, for `M`; on `device` if `A` is none of `spmv.matrix`, which has one."""
    return _spmv._jacobi(_prepared(A, device), None)


def block_jacobi(A, block, *, device=None):
    """The inverses of the blocks of `block` rows on the diagonal of a matrix, for `M`; `device` as for `jacobi`."""
    return _spmv._jacobi(_prepared(A, device), int(block))
