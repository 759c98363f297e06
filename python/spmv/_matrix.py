"""Makes matrices of what SciPy and others hold."""

import numpy as np

from . import _spmv
from ._spmv import Matrix


def _type_of(a, dtype):
    """The type that vectors and sums have."""
    if dtype is not None:
        dtype = np.dtype(dtype)
        if dtype not in (np.float32, np.float64, np.complex64, np.complex128):
            raise TypeError(f"dtype is {dtype}; use float32, float64, complex64 or complex128")
    if a.kind not in "biufc":
        raise TypeError(f"the matrix has type {a}; numbers are needed")
    if a.kind == "c" and dtype is not None and dtype.kind != "c":
        raise TypeError(f"the matrix has type {a}, which {dtype} would cut to its real part; ask for that by a.real")
    if a in (np.longdouble, np.clongdouble) and a.itemsize > (8 if a.kind == "f" else 16) and dtype is None:
        raise TypeError(f"the matrix has type {a}; ask for dtype='{'float64' if a.kind == 'f' else 'complex128'}' to round its values")
    if dtype is not None:
        return dtype
    if a.kind == "c":
        return np.dtype(np.complex64 if a.itemsize <= 8 else np.complex128)
    return np.dtype(np.float32 if a.kind == "f" and a.itemsize <= 4 else np.float64)


def _narrow(indices, limit, what):
    """Columns in 32 bits."""
    if indices.dtype.kind not in "iu":
        raise TypeError(f"{what} have type {indices.dtype}; integers are needed")
    if indices.dtype == np.int32:
        return indices
    if len(indices) and (int(indices.min()) < 0 or int(indices.max()) >= limit):
        raise ValueError(f"{what} must be from 0 to {limit - 1}")
    if limit > 2**31:
        raise ValueError(f"{limit} {what} are too many: 2147483648 is the most")
    return indices.astype(np.int32)


def matrix(a, shape=None, *, device=None, dtype=None, values=None, algorithm=None, tune=None, expected_products=None):
    """Prepares a sparse matrix for products on a device.

    `a` is a sparse matrix or array of SciPy (CSR and CSC are borrowed, others are copied to CSR), or the arrays
    `(data, indices, indptr)` of CSR with a `shape`. The arrays are kept and must not change while the matrix lives; `set_values` gives new
    values. Duplicate entries are added. A device has a copy of its own, laid out by a plan: `explain()` says which.

    device             what `spmv.device` gives, or a name for it: 'cpu', 'cuda:1', 'opencl', 'wgpu'. A GPU if there is one, else the CPU.
    dtype              type of vectors and sums: float32, float64, complex64 or complex128. That of `a`, and float64 where that has integers.
    values             a narrower type in which values are kept: 'float32', 'float16' or 'bfloat16'. 'exact' takes one that rounds none of them, if
                       there is one.
    algorithm          its name, such as 'merge_path' or 'sell', instead of what the plan takes.
    tune               'quick' or 'thorough': candidates are timed on the matrix. Sums may then have other bits in another run.
    expected_products  how many products are expected, if few: what costs more to prepare than it saves is left out.
    """
    if isinstance(a, Matrix):
        raise TypeError("the matrix is prepared already")
    notes = []
    is_by_columns = False
    if isinstance(a, (tuple, list)):
        if shape is None:
            raise TypeError("arrays need a shape: spmv.matrix((data, indices, indptr), shape)")
        data, indices, indptr = (np.asarray(each) for each in a)
        shape = tuple(int(n) for n in shape)
    elif hasattr(a, "tocsr"):
        if shape is not None:
            raise TypeError("a sparse matrix has a shape of its own")
        if len(a.shape) != 2:
            raise ValueError(f"the sparse array has {len(a.shape)} dimensions, not 2")
        # Before a conversion, which may be long.
        _type_of(a.dtype, dtype)
        shape = tuple(int(n) for n in a.shape)
        is_by_columns = a.format == "csc"
        if a.format not in ("csr", "csc"):
            notes.append(f"copied: from {a.format.upper()} to CSR")
            a = a.tocsr()
        data, indices, indptr = a.data, a.indices, a.indptr
    else:
        raise TypeError(
            f"{type(a).__name__} is no sparse matrix; use scipy.sparse.csr_array(a), or (data, indices, indptr) with a shape"
        )
    if len(shape) != 2 or min(shape) < 0:
        raise ValueError(f"the shape is {shape}; two numbers of at least 0 are needed")
    of_values = _type_of(data.dtype, dtype)
    if any(each.ndim != 1 for each in (data, indices, indptr)):
        raise ValueError("data, indices and indptr must have one dimension")
    # SciPy's arrays may be longer than what they hold.
    n_major = shape[1] if is_by_columns else shape[0]
    if len(indptr) == n_major + 1 and len(data) == len(indices) and 0 <= int(indptr[-1]) < len(data):
        data, indices = data[: int(indptr[-1])], indices[: int(indptr[-1])]
    if is_by_columns:
        notes.append("by columns: products take a copy of the transpose of what is borrowed")
    if data.dtype != of_values:
        notes.append(f"copied: values from {data.dtype} to {of_values}")
    if indices.dtype != np.int32:
        notes.append(f"copied: indices from {indices.dtype} to 32 bits")
    indices = _narrow(indices, shape[0] if is_by_columns else shape[1], "rows" if is_by_columns else "columns")
    if indptr.dtype.kind not in "iu":
        raise TypeError(f"indptr has type {indptr.dtype}; integers are needed")
    if indptr.dtype not in (np.int32, np.int64):
        indptr = indptr.astype(np.int64)
    return _spmv._prepare(
        np.ascontiguousarray(data, dtype=of_values),
        np.ascontiguousarray(indices),
        np.ascontiguousarray(indptr),
        shape,
        is_by_columns,
        device,
        None if values is None else _name(values),
        algorithm,
        tune,
        expected_products,
        "".join(f"{note}\n" for note in notes),
    )


def _name(values):
    """The name of a type; NumPy knows no bfloat16."""
    return values if values in ("bfloat16", "exact") else np.dtype(values).name
