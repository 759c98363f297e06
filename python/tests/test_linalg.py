"""Solvers, compared with what SciPy finds."""

import _thread
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg

import spmv


def poisson(n):
    one = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    return sp.csr_array(sp.kron(one, sp.eye_array(n)) + sp.kron(sp.eye_array(n), one))


def advection(n):
    one = sp.diags_array([-1.5, 3.0, -0.5], offsets=[-1, 0, 1], shape=(n, n))
    return sp.csr_array(sp.kron(one, sp.eye_array(n)) + sp.kron(sp.eye_array(n), one))


SQUARE = [("cg", poisson), ("minres", poisson), ("bicgstab", advection), ("gmres", advection)]


@pytest.mark.parametrize("name, make", SQUARE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_systems(device, name, make, dtype):
    a = make(15).astype(dtype)
    b = np.sin(np.arange(a.shape[0])).astype(dtype)
    rtol = 1e-4 if dtype == np.float32 else 1e-9
    x, info = getattr(spmv.linalg, name)(spmv.matrix(a, device=device), b, rtol=rtol)
    assert info == 0 and x.dtype == dtype
    assert np.linalg.norm(a @ x - b) <= 2 * rtol * np.linalg.norm(b)


@pytest.mark.parametrize("name, make", SQUARE)
def test_the_solution_is_that_of_scipy(name, make):
    a = make(12)
    b = np.cos(np.arange(a.shape[0]))
    x, info = getattr(spmv.linalg, name)(a, b, rtol=1e-11)
    expected = scipy.sparse.linalg.spsolve(a.tocsc(), b)
    assert info == 0
    np.testing.assert_allclose(x, expected, rtol=1e-7, atol=1e-8)


def turned(a):
    """In other units of each unknown: Hermitian, if the matrix is symmetric."""
    turn = sp.diags_array(np.exp(0.7j * np.arange(a.shape[0])))
    return sp.csr_array(turn @ a @ turn.conj())


@pytest.mark.parametrize("name, make", SQUARE)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_systems(device, name, make, dtype):
    a = turned(make(12)).astype(dtype)
    b = np.exp(0.3j * np.arange(a.shape[0])).astype(dtype)
    rtol = 1e-4 if dtype == np.complex64 else 1e-10
    m = spmv.matrix(a, device=device)
    x, info = getattr(spmv.linalg, name)(m, b, rtol=rtol)
    assert info == 0 and x.dtype == dtype
    assert np.linalg.norm(a @ x - b) <= 2 * rtol * np.linalg.norm(b)
    # By the transpose, and conjugate: each with a preconditioner of its own.
    for of, plain in [(m.H, a.conj().T), (m.T, a.T), (m.H.T, a.conj())]:
        for inverse in [spmv.linalg.jacobi(of), spmv.linalg.block_jacobi(of, 6)]:
            x, info = getattr(spmv.linalg, name)(of, b, M=inverse, rtol=rtol)
            assert info == 0
            assert np.linalg.norm(plain @ x - b) <= 2 * rtol * np.linalg.norm(b)


def test_complex_least_squares():
    rng = np.random.default_rng(3)
    a = sp.random_array((300, 40), density=0.2, format="csr", rng=rng)
    a = sp.csr_array((a.data * np.exp(1j * np.arange(a.nnz)), a.indices, a.indptr), shape=a.shape)
    b = np.exp(0.3j * np.arange(300))
    for m, dense in [(spmv.matrix(a), a.toarray()), (spmv.matrix(a).H.T, a.toarray().conj())]:
        x, info = spmv.linalg.lsmr(m, b, rtol=1e-10)
        assert info == 0
        np.testing.assert_allclose(x, np.linalg.lstsq(dense, b, rcond=None)[0], rtol=1e-6, atol=1e-8)
    with pytest.raises(spmv.BreakdownError, match="not positive definite"):
        spmv.linalg.cg(-turned(poisson(12)), np.ones(144))


def test_least_squares():
    a = sp.random_array((300, 40), density=0.2, format="csr", rng=np.random.default_rng(3))
    b = np.sin(np.arange(300))
    x, info = spmv.linalg.lsmr(a, b, rtol=1e-10)
    assert info == 0
    np.testing.assert_allclose(x, np.linalg.lstsq(a.toarray(), b, rcond=None)[0], rtol=1e-6, atol=1e-8)


def test_preconditioners():
    a = poisson(20)
    scale = sp.diags_array(10.0 ** (np.arange(400) % 5))
    a = sp.csr_array(scale @ a @ scale)
    b = np.ones(400)
    m = spmv.matrix(a, device="cpu")
    plain = spmv.linalg.solve(m, b, rtol=1e-8, maxiter=4000)
    inverse = sp.diags_array(1 / a.diagonal()).tocsr()
    for M in (spmv.linalg.jacobi(m), spmv.linalg.block_jacobi(a, 5, device="cpu"), inverse, spmv.matrix(inverse, device="cpu")):
        did = spmv.linalg.solve(m, b, rtol=1e-8, maxiter=4000, M=M)
        assert did.converged and did.iterations < plain.iterations
    with pytest.raises(TypeError, match="another type"):
        spmv.linalg.cg(m, b, M=spmv.linalg.jacobi(a.astype(np.float32), device="cpu"))
    with pytest.raises(TypeError, match="no preconditioner"):
        spmv.linalg.solve(m, b, method="lsmr", M=inverse)


def test_callbacks():
    a, b = poisson(15), np.ones(225)
    told = []
    x, info = spmv.linalg.cg(a, b, callback=told.append, check_every=5, rtol=1e-8)
    assert [progress.iteration for progress in told[:3]] == [0, 5, 10]
    assert told[-1].residual <= told[-1].target
    stopped = spmv.linalg.solve(a, b, callback=lambda progress: progress.iteration >= 10, rtol=1e-12)
    assert (stopped.iterations, stopped.converged) == (10, False)
    assert len(stopped.history) == 2
    with pytest.raises(ZeroDivisionError):
        spmv.linalg.cg(a, b, callback=lambda progress: 1 / 0)


def test_ctrl_c():
    # A shell may have started this in the background, where interrupts are ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    a, b = poisson(200), np.ones(40000)
    m = spmv.matrix(a, device="cpu")
    threading.Timer(0.3, _thread.interrupt_main).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        while time.monotonic() - started < 20:
            spmv.linalg.cg(m, b, rtol=0.0, maxiter=10**6)


def test_starts_from_x0_and_leaves_it():
    a, x0 = poisson(10), np.ones(100)
    did = spmv.linalg.solve(a, a @ x0, x0=x0)
    assert did.iterations == 0 and (did.x == x0).all() and did.x is not x0


def test_not_converged():
    x, info = spmv.linalg.cg(poisson(30), np.ones(900), rtol=1e-12, maxiter=7)
    assert info == 7


@pytest.mark.parametrize(
    "call, error, text",
    [
        (
            lambda: spmv.linalg.cg(sp.csr_array(np.diag([1.0, -1.0])), np.ones(2)),
            spmv.BreakdownError,
            "positive definite",
        ),
        (lambda: spmv.linalg.cg(poisson(3), np.ones(4)), ValueError, "b has shape"),
        (lambda: spmv.linalg.cg(poisson(3), np.ones(9), x0=np.ones(3)), ValueError, "x0 has shape"),
        (lambda: spmv.linalg.cg(sp.csr_array(np.ones((2, 3))), np.ones(2)), ValueError, "."),
        (lambda: spmv.linalg.cg(poisson(3), np.full(9, np.nan)), spmv.BreakdownError, "finite"),
        (lambda: spmv.linalg.cg(poisson(3), np.ones(9), rtol=-1), ValueError, "at least 0"),
        (lambda: spmv.linalg.cg(poisson(3), np.ones(9), check_every=0), ValueError, "at least 1"),
        (lambda: spmv.linalg.gmres(poisson(3), np.ones(9), restart=0), ValueError, "1 to 3999"),
        (lambda: spmv.linalg.cg(np.eye(3), np.ones(3)), TypeError, "ndarray is no sparse matrix"),
        (lambda: spmv.linalg.solve(poisson(3), np.ones(9), method="magic"), ValueError, "magic"),
        (lambda: spmv.linalg.jacobi(sp.csr_array([[0.0, 1], [1, 0]])), ValueError, "diagonal"),
    ],
)
def test_what_is_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()
