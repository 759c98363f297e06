# Conjugate gradients of SciPy on a matrix in a folder; reads numbers of iterations, writes seconds of one.
import pathlib
import sys
import time

import numpy as np
import scipy
from scipy.sparse import csr_array
from scipy.sparse.linalg import cg

folder = pathlib.Path(sys.argv[1])
row_ptr = np.fromfile(folder / "row_ptr", np.int32)
cols = np.fromfile(folder / "cols", np.int32)
vals = np.fromfile(folder / "vals", np.float64)
b = np.fromfile(folder / "b", np.float64)
a = csr_array((vals, cols, row_ptr), shape=(b.size, b.size))
print(scipy.__version__, flush=True)
for line in sys.stdin:
    n = int(line)
    start = time.perf_counter()
    x, _ = cg(a, b, rtol=0.0, atol=0.0, maxiter=n)
    seconds = time.perf_counter() - start
    x.tofile(folder / "x")
    print(seconds / n, flush=True)
