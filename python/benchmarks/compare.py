"""Products and conjugate gradients next to SciPy's, in one process. Whatever differs from SciPy's result prints FAILED and no speed.

Files of Matrix Market may follow; without any, matrices of this repository and generated ones are taken.
"""

import argparse
import math
import pathlib
import platform
import statistics
import time

import numpy as np
import scipy
import scipy.io
import scipy.sparse as sp
import scipy.sparse.linalg

import spmv

DATA = pathlib.Path(__file__).parents[2] / "tests" / "data"


def seconds(call, other, target=0.2):
    """Medians of two calls that take turns, so that both see the same machine."""
    once = time.perf_counter()
    call()
    once = time.perf_counter() - once
    runs = max(5, min(2000, int(target / max(once, 1e-7))))
    times = ([], [])
    for _ in range(runs):
        for each, into in zip((call, other), times):
            start = time.perf_counter()
            each()
            into.append(time.perf_counter() - start)
    return tuple(statistics.median(each) for each in times)


def poisson(n):
    one = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    return sp.csr_array(sp.kron(one, sp.eye_array(n)) + sp.kron(sp.eye_array(n), one))


def generated():
    rng = np.random.default_rng(1)
    yield "poisson 1000 x 1000", poisson(1000)
    yield "random, 16 a row", sp.random_array((500_000, 500_000), density=16 / 500_000, format="csr", rng=rng)
    offsets = list(range(-6, 7))
    yield (
        "band of 13",
        sp.csr_array(
            sp.diags_array([rng.standard_normal(500_000) for _ in offsets], offsets=offsets, shape=(500_000, 500_000))
        ),
    )
    lengths = np.minimum((rng.pareto(1.5, 300_000) * 5 + 1).astype(np.int64), 20_000)
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    cols = rng.integers(0, 300_000, indptr[-1], dtype=np.int32)
    yield "power law", sp.csr_array((rng.standard_normal(indptr[-1]), cols, indptr), shape=(300_000, 300_000))


def of_files(paths):
    for path in paths:
        name = pathlib.Path(path).name.split(".")[0]
        try:
            a = sp.csr_array(scipy.io.mmread(path, spmatrix=False))
        except ValueError as e:
            print(f"{name:<24} skipped: SciPy cannot read it: {e}")
            continue
        if a.dtype.kind == "c":
            print(f"{name:<24} skipped: complex")
            continue
        yield name, a.astype(np.float64)


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def agree(found, expected, a, x):
    """Within the rounding error of a sum of so many products."""
    longest = int(np.diff(a.indptr).max(initial=1))
    bound = 2 * (longest + 2) * np.finfo(a.dtype).eps * (abs(a) @ np.abs(x))
    return bool(np.all(np.abs(found - expected) <= bound))


def products(matrices, device):
    cupy = of_cupy(device)
    theirs = "CuPy" if cupy else "SciPy"
    print(f"{'matrix':<24} {'nonzeros':>10}  type  {'spmv, us':>9} {theirs + ', us':>10}  {theirs}'s over ours")
    ratios = {np.float64: [], np.float32: []}
    for name, a in matrices:
        for dtype, into in ratios.items():
            b = a.astype(dtype)
            m = spmv.matrix(b, device=device)
            x = np.random.default_rng(0).standard_normal(b.shape[1]).astype(dtype)
            label = f"{name:<24} {b.nnz:>10}  {'f64' if dtype == np.float64 else 'f32'}"
            expected = b @ x
            ours, other, found = (lambda: m @ x), (lambda: b @ x), m @ x
            if cupy:
                on_device, there = cupy[1].csr_matrix(b), cupy[0].asarray(x)
                ours, other, found = (lambda: m @ there), in_turn(cupy[0], on_device, there), (m @ there).get()
            if not agree(found, expected, b, x):
                print(f"{label}  FAILED")
                continue
            own_s, other_s = seconds(ours, other)
            into.append(other_s / own_s)
            print(f"{label}  {own_s * 1e6:>9.1f} {other_s * 1e6:>10.1f}  {other_s / own_s:.2f}x", flush=True)
    for dtype, into in ratios.items():
        if into:
            print(
                f"{np.dtype(dtype).name}: {mean(into):.2f}x in the geometric mean of {len(into)}, least {min(into):.2f}x"
            )


def of_cupy(device):
    """CuPy and its sparse matrices, for vectors that are on the device already."""
    if device.backend != "cuda":
        return None
    try:
        import cupy
        import cupyx.scipy.sparse
    except ImportError:
        return None
    return cupy, cupyx.scipy.sparse


def in_turn(cupy, a, x):
    """A product by CuPy that is done when it returns, as ours is."""

    def product():
        y = a @ x
        cupy.cuda.get_current_stream().synchronize()
        return y

    return product


def overhead(device):
    a = poisson(8)
    m, x = spmv.matrix(a, device=device), np.ones(a.shape[1])
    m @ x
    n = 20_000
    start = time.perf_counter()
    for _ in range(n):
        m @ x
    by_python = (time.perf_counter() - start) / n
    by_rust = m._seconds(x, n)
    print(
        f"a product of {a.nnz} nonzeros takes {by_python * 1e6:.2f} us from Python and {by_rust * 1e6:.2f} us from Rust: "
        f"{(by_python - by_rust) * 1e6:.2f} us more"
    )


def solvers(device):
    a = poisson(1000)
    b = a @ np.sin(np.arange(a.shape[0]) / 1e3)
    rtol = 1e-6
    start = time.perf_counter()
    m = spmv.matrix(a, device=device)
    prepared = time.perf_counter() - start
    start = time.perf_counter()
    did = spmv.linalg.solve(m, b, rtol=rtol)
    ours = time.perf_counter() - start
    # What a process compiles, it compiles once.
    start = time.perf_counter()
    spmv.linalg.solve(m, b, rtol=rtol)
    again = time.perf_counter() - start
    n_theirs = [0]
    start = time.perf_counter()
    x, info = scipy.sparse.linalg.cg(a, b, rtol=rtol, callback=lambda _: n_theirs.__setitem__(0, n_theirs[0] + 1))
    theirs = time.perf_counter() - start
    residual = np.linalg.norm(a @ did.x - b) / np.linalg.norm(b)
    if not (did.converged and residual <= 2 * rtol and info == 0):
        print(f"conjugate gradients on {a.shape[0]} unknowns: FAILED, residual {residual:.1e}")
        return
    print(
        f"conjugate gradients on {a.shape[0]} unknowns to {rtol:.0e}: {ours:.2f} s for {did.iterations} iterations and "
        f"{prepared:.2f} s to prepare; SciPy {theirs:.2f} s for {n_theirs[0]}: {theirs / (ours + prepared):.2f}x; solved again in "
        f"{again:.3f} s: {theirs / again:.1f}x"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="matrices instead of those of this repository")
    parser.add_argument("--device", default="cpu", help="as spmv.device takes it")
    args = parser.parse_args()
    device = spmv.device(args.device)
    print(
        f"{device.backend}: {device.name}; Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}"
    )
    overhead(device)
    if args.files:
        products(of_files(args.files), device)
    else:
        products(list(of_files(sorted(DATA.glob("*.mtx*")))) + list(generated()), device)
    solvers(device)


if __name__ == "__main__":
    main()
