# Products of a matrix and a vector or several columns in a folder by SciPy. Reads numbers of products, writes seconds of one; "y" writes the
# last product.
import gc
import pathlib
import signal
import sys
import time

import numpy as np
import scipy
from scipy.sparse import csr_matrix

# An interrupt is for the program that asks, which ends this one.
signal.signal(signal.SIGINT, signal.SIG_IGN)
folder, n_rows, n_cols, dtype = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
transposed = sys.argv[5] == "transposed"
row_ptr = np.fromfile(folder / "row_ptr", np.int32)
cols = np.fromfile(folder / "cols", np.int32)
vals = np.fromfile(folder / "vals", dtype)
x = np.fromfile(folder / "x", dtype)
columns, order = int(sys.argv[6]), sys.argv[7]
if columns > 0:
    x = x.reshape((-1, columns), order=order)
start = time.perf_counter()
a = csr_matrix((vals, cols, row_ptr), shape=(n_rows, n_cols))
if transposed:
    a = a.T
print(scipy.__version__, time.perf_counter() - start, flush=True)
gc.disable()
y = None
for line in sys.stdin:
    if line.strip() == "y":
        y.ravel(order=order).tofile(folder / "y")
        print("written", flush=True)
        continue
    n = int(line)
    start = time.perf_counter()
    for _ in range(n):
        y = a.dot(x)
    print((time.perf_counter() - start) / n, flush=True)
