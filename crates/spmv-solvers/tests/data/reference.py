"""Writes scipy.tsv: solutions of SciPy's solvers, with bounds on how far two approximate solutions can be apart.

    python3 reference.py [folder of .mtx.gz files] > scipy.tsv

The folder is the one that SPMV_MATRICES names; without it only the rows of generated matrices and of the repository's are written.
SciPy 1.14 or newer.

Each row is a matrix A + shift*I, a right-hand side and a solver. The shift is the least multiple (of SHIFTS) of a bound on the norm of
A, a thousandth above the greatest singular value that Lanczos' process finds, with which all solvers of the group converge in
ITERATIONS, and their solutions are known to APART: matrices that are singular, or too ill conditioned for an iteration without a
preconditioner, get one.

inverse is a bound on the norm of the inverse (least squares: of the pseudoinverse of A^T*A), by which two solutions are at most
inverse*(their residuals) apart: from eigenvalues, or, above LARGE rows, 1/(shift - bound on the norm of A), for which the shift is
above 1. residual is what SciPy's solution left, computed anew (least squares: the norm of A^T*(b - A*x)).
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import scipy
import scipy.io
import scipy.sparse as sp
import scipy.sparse.linalg as la

warnings.filterwarnings("ignore")
RELATIVE = 1e-8
ITERATIONS = 1000
RESTART = 30
APART = 1e-3
SHIFTS = [0, 2**-10, 2**-7, 2**-4, 0.5, 1.25]
LARGE = 20000
REPOSITORY = Path(__file__).parent / "../../../../tests/data"
SQUARE = ["epb0", "west0479", "adder_dcop_05", "bp_1200", "Journals", "plskz362", "rajat01", "delaunay_n13",
          "tri_testmatrices_linearized_qevp_A", "wiki-Vote", "p2p-Gnutella31"]
TALL = ["well1033", "lp_fit2d"]
FOLDER_SQUARE = ["xenon1", "c-62", "memplus", "cage10", "arrow", "bcsstk16", "bayer10", "sherman3", "wiki-Vote",
                 "bips98_606", "cavity14", "nasa4704", "epb0", "musae_git", "email-Enron", "west0479",
                 "NotreDame_www", "debian_rdepends", "delaunay_n13", "p2p-Gnutella31", "rajat01"]
FOLDER_TALL = ["lp_maros_r7"]
DEFINITE = ["bcsstk16"]


def laplacian(side):
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(side, side))
    eye = sp.identity(side)
    return sp.csr_array(sp.kron(sp.kron(line, eye), eye) + sp.kron(sp.kron(eye, line), eye) + sp.kron(sp.kron(eye, eye), line))


def convection(side):
    a = laplacian(side).tocoo()
    step = np.where(a.col + 1 == a.row, -0.7, np.where(a.col == a.row + 1, 0.7, 0.0))
    return sp.csr_array((a.data + step, (a.row, a.col)), shape=a.shape)


def wave(n):
    return np.sin(0.37 * np.arange(n))


def norm_of_inverse(a):
    lu = la.splu(sp.csc_array(a))
    n = a.shape[0]
    both = la.LinearOperator((n, n), matvec=lambda x: lu.solve(lu.solve(x), trans="T"), dtype=float)
    return np.sqrt(la.eigsh(both, k=1, tol=1e-6, return_eigenvectors=False)[0]) * (1 + 1e-5)


def solve(solver, a, b):
    count = [0]

    def counted(_):
        count[0] += 1

    if solver == "cg":
        x, _ = la.cg(a, b, rtol=RELATIVE, maxiter=ITERATIONS, callback=counted)
    elif solver == "bicgstab":
        x, _ = la.bicgstab(a, b, rtol=RELATIVE, maxiter=ITERATIONS, callback=counted)
    elif solver == "gmres":
        x, _ = la.gmres(a, b, rtol=RELATIVE, restart=RESTART, maxiter=ITERATIONS // RESTART, callback=counted,
                        callback_type="pr_norm")
    elif solver == "minres":
        x, _ = la.minres(a, b, rtol=RELATIVE / 1000, maxiter=ITERATIONS, callback=counted)
    elif solver == "lsqr":
        x, _, count[0] = la.lsqr(a, b, atol=1e-13, btol=1e-13, conlim=0, iter_lim=ITERATIONS)[:3]
    elif solver == "lsmr":
        x, _, count[0] = la.lsmr(a, b, atol=1e-13, btol=1e-13, conlim=0, maxiter=ITERATIONS)[:3]
    return x, count[0]


def write(kind, name, shift, solver, b, inverse, x, iterations, residual):
    n = len(x)
    samples = [x[i * (n - 1) // 4] for i in range(5)]
    numbers = [shift, np.linalg.norm(b), inverse, residual, np.linalg.norm(x), *samples]
    print(kind, name, solver, iterations, *(f"{float(x)!r}" for x in numbers), sep="\t", flush=True)


def square(kind, name, a, solvers, b_of):
    n = a.shape[0]
    bound = 1.001 * la.svds(a, k=1, return_singular_vectors=False, rng=1)[0]
    for times in [SHIFTS[-1]] if n > LARGE else SHIFTS:
        shift = times * bound
        shifted = sp.csr_array(a + shift * sp.identity(n))
        b = b_of(shifted)
        found = [(solver, *solve(solver, shifted, b)) for solver in solvers]
        residuals = [np.linalg.norm(b - shifted @ x) for _, x, _ in found]
        if any(r > 2 * RELATIVE * np.linalg.norm(b) for r in residuals):
            continue
        inverse = 1 / (shift - bound) if times > 1 else norm_of_inverse(shifted)
        if 2 * inverse * max(residuals) <= APART * np.linalg.norm(found[0][1]):
            break
    else:
        print(f"{name}: no solver converged", file=sys.stderr)
        return
    for (solver, x, iterations), residual in zip(found, residuals):
        write(kind, name, shift, solver, b, inverse, x, iterations, residual)


def tall(kind, name, a, b_of):
    short = (a.T @ a if a.shape[0] > a.shape[1] else a @ a.T).toarray()
    values = np.linalg.eigvalsh(short)
    # Of a matrix without full rank the least eigenvalue is a rounding error.
    assert values[0] > 1e-10 * values[-1], f"{name}: rank"
    b = b_of(a)
    for solver in ["lsqr", "lsmr"]:
        x, iterations = solve(solver, a, b)
        residual = np.linalg.norm(a.T @ (b - a @ x))
        if residual > RELATIVE * np.linalg.norm(a.T @ b):
            print(f"{name} {solver}: {residual / np.linalg.norm(a.T @ b)}", file=sys.stderr)
            continue
        write(kind, name, 0.0, solver, b, (1 + 1e-5) / values[0], x, iterations, residual)


def solvers_of(name, a):
    if abs(a - a.T).max() != 0:
        return ["gmres", "bicgstab"]
    return ["minres", "gmres", "cg"] if name in DEFINITE or a.shape[0] > LARGE else ["minres", "gmres"]


def main():
    print(f"# SciPy {scipy.__version__}, numpy {np.__version__}; relative {RELATIVE}, restart {RESTART}; by reference.py")
    print("kind", "matrix", "solver", "iterations", "shift", "b_norm", "inverse", "residual", "x_norm",
          *(f"x{i}" for i in range(5)), sep="\t")
    of_wave = lambda a: wave(a.shape[0])
    of_ones = lambda a: a @ np.ones(a.shape[1])
    square("generated", "laplacian", laplacian(8), ["cg", "minres", "gmres", "bicgstab"], of_wave)
    square("generated", "shifted", laplacian(7) - 2.5 * sp.identity(343), ["minres", "gmres"], of_wave)
    square("generated", "convection", convection(7), ["gmres", "bicgstab"], of_wave)
    read = lambda folder, name: sp.csr_array(scipy.io.mmread(folder / f"{name}.mtx.gz")).astype(float)
    for name in SQUARE:
        a = read(REPOSITORY, name)
        square("repository", name, a, solvers_of(name, a), of_wave)
    for name in TALL:
        tall("repository", name, read(REPOSITORY, name), of_wave)
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        for name in FOLDER_SQUARE:
            a = read(folder, name)
            square("folder", name, a, solvers_of(name, a), of_ones)
        for name in FOLDER_TALL:
            tall("folder", name, read(folder, name), of_ones)


main()
