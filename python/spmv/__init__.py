"""Sparse matrices on CPUs and GPUs: products and solvers for what SciPy holds.

>>> import numpy as np, scipy.sparse, spmv
>>> a = spmv.matrix(scipy.sparse.csr_array([[4.0, 1.0], [1.0, 3.0]]))
>>> a @ np.array([1.0, 2.0])
array([6., 7.])
>>> x, info = spmv.linalg.cg(a, np.array([1.0, 2.0]))
>>> info
0
"""

import os

from . import _spmv
from ._matrix import matrix
from ._spmv import (
    BreakdownError,
    Device,
    DeviceLostError,
    Matrix,
    NoBackendError,
    SpmvError,
    UnsupportedError,
    __version__,
    device,
    devices,
    unavailable,
)
from . import linalg

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_spmv._after_fork)

__all__ = [
    "BreakdownError",
    "Device",
    "DeviceLostError",
    "Matrix",
    "NoBackendError",
    "SpmvError",
    "UnsupportedError",
    "__version__",
    "device",
    "devices",
    "linalg",
    "matrix",
    "unavailable",
]
