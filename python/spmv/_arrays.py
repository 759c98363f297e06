"""What NumPy does for the compiled half: conversions, refusals, and views of a matrix for others."""

import html

import numpy as np


def _checked(a, dtype, what):
    """An array of numbers that `dtype` can stand for."""
    a = np.asarray(a)
    is_complex = np.dtype(dtype).kind == "c"
    if a.dtype.kind not in ("biufc" if is_complex else "biuf"):
        raise TypeError(f"{what} has type {a.dtype}; {'' if is_complex else 'real '}numbers are needed")
    # What NumPy would compute in a wider type would be rounded.
    if np.promote_types(a.dtype, dtype) != dtype:
        raise TypeError(
            f"{what} has type {a.dtype}, the matrix {dtype}: convert it by {what}.astype('{dtype}'), "
            f"or make the matrix with dtype='{'complex128' if is_complex else 'float64'}'"
        )
    return a


def as_operand(x, dtype):
    """x as a contiguous array of one or two dimensions, copied only where it must be."""
    if hasattr(x, "tocsr"):
        raise TypeError("a product of two sparse matrices is not offered; use SciPy for it")
    x = _checked(x, dtype, "x")
    if x.ndim not in (1, 2):
        raise ValueError(f"x has {x.ndim} dimensions, not 1 or 2")
    # Columns of a block may follow each other in either order.
    order = "F" if x.ndim == 2 and x.flags.f_contiguous and not x.flags.c_contiguous else "C"
    return np.asarray(x, dtype=dtype, order=order)


def as_values(data, dtype):
    """New values of a matrix."""
    data = _checked(data, dtype, "data")
    if data.ndim != 1:
        raise ValueError(f"data has {data.ndim} dimensions, not 1")
    return np.ascontiguousarray(data, dtype=dtype)


def as_linear_operator(a):
    """The matrix as an operator of SciPy."""
    from scipy.sparse.linalg import LinearOperator

    return LinearOperator(
        a.shape, matvec=a.matvec, rmatvec=a.rmatvec, matmat=a.matmat, rmatmat=a.rmatmat, dtype=a.dtype
    )


def as_csr_array(a):
    """The matrix as SciPy holds it."""
    from scipy.sparse import csc_array, csr_array

    data, indices, indptr, is_transposed, is_conjugate = a._arrays
    if is_conjugate:
        data = data.conj()
    if is_transposed:
        return csc_array((data, indices, indptr), shape=a.shape).tocsr()
    return csr_array((data, indices, indptr), shape=a.shape)


# Cells of a picture along either side, at most.
_CELLS = 48


def _spy(a):
    """Where the entries are, as SVG: the darker a cell, the more of them."""
    data, indices, indptr, is_transposed, _ = a._arrays
    n_rows, n_cols = a.T.shape if is_transposed else a.shape
    if len(data) == 0:
        return ""
    high, wide = min(n_rows, _CELLS), min(n_cols, _CELLS)
    counts = np.zeros((high, wide), dtype=np.int64)
    # Rows are taken in turn, so that little memory is needed.
    edges = np.linspace(0, n_rows, high + 1).astype(np.int64)
    for cell, (first, end) in enumerate(zip(edges[:-1], edges[1:])):
        cols = indices[indptr[first] : indptr[end]].astype(np.int64) * wide // n_cols
        counts[cell] = np.bincount(cols, minlength=wide)
    if is_transposed:
        counts = counts.T
    high, wide = counts.shape
    most = np.log1p(counts.max())
    cells = "".join(
        f'<rect x="{x}" y="{y}" width="1" height="1" fill-opacity="{0.15 + 0.85 * np.log1p(counts[y, x]) / most:.2f}"/>'
        for y, x in zip(*np.nonzero(counts))
    )
    return (
        f'<svg viewBox="0 0 {wide} {high}" width="{4 * wide}" height="{4 * high}" role="img" '
        f'aria-label="where the entries are" fill="currentColor" shape-rendering="crispEdges" '
        f'style="border: 1px solid currentColor">{cells}</svg>'
    )


def to_html(a):
    """What a notebook shows of a matrix."""
    rows = [
        ("shape", f"{a.shape[0]:,} &times; {a.shape[1]:,}"),
        ("entries", f"{a.nnz:,}"),
        ("type", str(a.dtype)),
        ("device", f"{a.device.backend}: {html.escape(a.device.name)}"),
        ("algorithm", html.escape(a.algorithm)),
    ]
    body = "".join(f'<tr><th style="text-align: left">{name}</th><td>{value}</td></tr>' for name, value in rows)
    return f'<div style="display: flex; gap: 1.5em; align-items: center"><table>{body}</table>{_spy(a)}</div>'
