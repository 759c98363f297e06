"""Products, compared with SciPy's."""

import gc
import pickle
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import spmv

# Matrices of the kinds that SciPy's own tests use: empty rows and columns, one row, no entry, duplicates, dense.
DENSE = np.array([[1.0, 0, 2, 0], [0, 0, 0, 0], [3, 0, 0, 4]])


def cases():
    rng = np.random.default_rng(7)
    yield "small", sp.csr_array(DENSE)
    yield "no entry", sp.csr_array((3, 5))
    yield "one row", sp.csr_array(rng.standard_normal((1, 300)))
    yield "one column", sp.csr_array(rng.standard_normal((300, 1)))
    yield "duplicates", sp.csr_array((np.array([1.0, 2, 3]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    yield "unsorted", sp.csr_array((np.array([1.0, 2, 3]), np.array([2, 0, 1]), np.array([0, 3])), shape=(1, 3))
    yield "random", sp.random_array((500, 400), density=0.03, format="csr", rng=rng)
    yield "tall", sp.random_array((3000, 20), density=0.1, format="csr", rng=rng)
    yield "no rows", sp.csr_array((0, 4))
    yield "no columns", sp.csr_array((4, 0))


CASES = dict(cases())


def close(found, expected, like):
    # Sums of at most some hundred products of numbers about one.
    tolerance = 1e-4 if like == np.float32 else 1e-11
    assert found.dtype == like
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_products(device, name, dtype):
    a = CASES[name].astype(dtype)
    m = spmv.matrix(a, device=device)
    rng = np.random.default_rng(1)
    x = rng.standard_normal(a.shape[1]).astype(dtype)
    y = rng.standard_normal(a.shape[0]).astype(dtype)
    block = rng.standard_normal((a.shape[1], 3)).astype(dtype)
    close(m @ x, a @ x, dtype)
    close(m.T @ y, a.T @ y, dtype)
    close(y @ m, y @ a, dtype)
    close(m @ block, a @ block, dtype)
    close(m @ np.asfortranarray(block), a @ block, dtype)
    close(m.rmatmat(y[:, None]), a.T @ y[:, None], dtype)
    close(m @ x[:, None], a @ x[:, None], dtype)
    assert (m.shape, m.nnz, m.dtype) == (a.shape, a.nnz, dtype)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_formats(format):
    a = sp.csr_array(DENSE).asformat(format)
    m = spmv.matrix(a, device="cpu")
    x = np.array([1.0, 10, 100, 1000])
    assert (m @ x).tolist() == (DENSE @ x).tolist()
    assert (m.T @ x[:3]).tolist() == (DENSE.T @ x[:3]).tolist()
    assert ("copied" in m.explain()) == (format not in ("csr", "csc"))
    assert (m.tocsr().toarray() == DENSE).all()
    assert (m.T.tocsr().toarray() == DENSE.T).all()


def test_arrays_without_scipy():
    m = spmv.matrix(([2.0, 3.0], [1, 0], [0, 1, 2]), (2, 2), device="cpu")
    assert (m @ [1.0, 10.0]).tolist() == [20.0, 3.0]


def test_arrays_of_csr_are_borrowed_and_kept():
    a = sp.csr_array(DENSE)
    m = spmv.matrix(a, device="cpu")
    assert np.shares_memory(m.tocsr().data, a.data) and np.shares_memory(m.tocsr().indices, a.indices)
    del a
    gc.collect()
    assert (m.T @ np.ones(3)).tolist() == DENSE.sum(axis=0).tolist()


def test_64_bit_indices():
    a = sp.csr_array(DENSE)
    a.indices, a.indptr = a.indices.astype(np.int64), a.indptr.astype(np.int64)
    m = spmv.matrix(a, device="cpu")
    assert (m @ np.ones(4)).tolist() == DENSE.sum(axis=1).tolist()
    assert "copied: indices" in m.explain()


def test_operands_are_converted_only_where_nothing_is_lost():
    m = spmv.matrix(sp.csr_array(DENSE), device="cpu")
    expected = DENSE.sum(axis=1).tolist()
    for x in (np.ones(4, np.int32), np.ones(4, bool), np.ones(4, np.float32), [1, 1, 1, 1], np.ones(8)[::2]):
        assert (m @ x).tolist() == expected
    narrow = spmv.matrix(sp.csr_array(DENSE.astype(np.float32)), device="cpu")
    assert (narrow @ np.ones(4, np.int16)).tolist() == expected
    for x in (np.ones(4), np.ones(4, np.int64), np.ones(4, np.longdouble)):
        with pytest.raises(TypeError, match=f"{x.dtype}, the matrix float32"):
            narrow @ x
    wide = spmv.matrix(sp.csr_array(DENSE.astype(np.float32)), device="cpu", dtype="float64")
    assert (wide @ np.ones(4)).dtype == np.float64
    integers = spmv.matrix(sp.csr_array(DENSE.astype(np.int64)), device="cpu")
    assert (integers @ np.ones(4)).tolist() == expected


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_complex_matrices(device, dtype, format):
    if dtype not in device.dtypes:
        pytest.skip(f"{device.name} lacks {dtype}")
    rng = np.random.default_rng(1)
    dense = (DENSE * (1 + 2j) + 1j * (DENSE != 0) * rng.integers(-3, 4, DENSE.shape)).astype(dtype)
    a = sp.csr_array(dense).asformat(format)
    m = spmv.matrix(a, device=device)
    assert m.dtype == dtype
    x = (rng.integers(-3, 4, 4) + 1j * rng.integers(-3, 4, 4)).astype(dtype)
    y = (rng.integers(-3, 4, 3) + 1j * rng.integers(-3, 4, 3)).astype(dtype)
    assert (m @ x).tolist() == (dense @ x).tolist()
    assert (m.T @ y).tolist() == (dense.T @ y).tolist()
    assert (m.H @ y).tolist() == m.rmatvec(y).tolist() == (dense.conj().T @ y).tolist()
    assert (m.H.H @ x).tolist() == (dense @ x).tolist()
    assert (m.H.T @ x).tolist() == (dense.conj() @ x).tolist()
    assert (y @ m).tolist() == (y @ dense).tolist()
    block = np.stack([y, 1j * y, y.conj()], axis=1).astype(dtype)
    assert (m.H @ block).tolist() == m.rmatmat(block).tolist() == (dense.conj().T @ block).tolist()
    assert (m.H.tocsr().toarray() == dense.conj().T).all() and (m.tocsr().toarray() == dense).all()
    assert (m @ np.ones(4, np.float32)).tolist() == dense.sum(axis=1).tolist()
    operator = m.aslinearoperator()
    assert (operator.H @ y).tolist() == (dense.conj().T @ y).tolist()
    m.set_values(m.tocsr().data * 1j if format != "csc" else a.data * 1j)
    assert (m @ x).tolist() == (1j * dense @ x).tolist()


def test_complex_numbers_are_never_cut():
    with pytest.raises(TypeError, match="cut to its real part"):
        spmv.matrix(sp.csr_array(DENSE * 1j), dtype="float64")
    narrow = spmv.matrix(sp.csr_array((DENSE * 1j).astype(np.complex64)), device="cpu")
    with pytest.raises(TypeError, match="complex128, the matrix complex64"):
        narrow @ (np.ones(4) * 1j)
    real = spmv.matrix(sp.csr_array(DENSE), device="cpu", dtype="complex128")
    assert (real @ (np.ones(4) * 1j)).tolist() == (DENSE.sum(axis=1) * 1j).tolist()
    m = spmv.matrix(sp.csr_array(DENSE), device="cpu")
    with pytest.raises(TypeError, match="complex128; real numbers"):
        m @ (np.ones(4) * 1j)
    with pytest.raises(TypeError, match="complex128"):
        spmv.linalg.cg(sp.csr_array(np.eye(3)), np.ones(3) * 1j)


def test_narrower_values(device):
    a = sp.csr_array(DENSE / 3)
    for values, unit in [("float32", 2.0**-24), ("float16", 2.0**-11), ("bfloat16", 2.0**-8)]:
        m = spmv.matrix(a, device=device, values=values)
        np.testing.assert_allclose(m @ np.ones(4), a @ np.ones(4), rtol=unit)
        assert m.dtype == np.float64
    with pytest.raises(ValueError, match="beyond f32"):
        spmv.matrix(sp.csr_array([[1e300]]), device=device, values="float32")


def test_exact_values(device):
    x = np.array([1 / 3, 0.7, -1 / 7, 1e-3])
    # One twelfth takes all digits.
    for factor, is_narrow in [(1.0, True), (1 / 12, False)]:
        a = sp.csr_array(DENSE * factor)
        m = spmv.matrix(a, device=device, values="exact")
        assert ("vectors and sums in f64" in m.explain()) == is_narrow
        np.testing.assert_allclose(m @ x, a @ x, rtol=1e-15)
    assert spmv.matrix(sp.csr_array(DENSE.astype(np.float32)), device=device, values="exact").dtype == np.float32


def test_out():
    m = spmv.matrix(sp.csr_array(DENSE), device="cpu")
    y = np.full(3, np.nan)
    assert m.matvec(np.ones(4), out=y) is y
    assert y.tolist() == DENSE.sum(axis=1).tolist()
    block = np.empty((3, 2))
    assert m.matmat(np.ones((4, 2)), out=block) is block
    assert block[:, 1].tolist() == y.tolist()
    for bad in (np.empty(2), np.empty(3, np.float32), np.empty(6)[::2], [0.0] * 3):
        with pytest.raises(TypeError, match="out must be"):
            m.matvec(np.ones(4), out=bad)
    frozen = np.empty(3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError):
        m.matvec(np.ones(4), out=frozen)
    square = spmv.matrix(sp.csr_array(np.eye(3)), device="cpu")
    with pytest.raises(ValueError, match="in use"):
        square.matvec(y, out=y)


def test_set_values(device):
    a = sp.csr_array(DENSE)
    m = spmv.matrix(a, device=device)
    m @ np.ones(4), m.T @ np.ones(3), m @ np.ones((4, 2))
    m.set_values(a.data * 2)
    assert (m @ np.ones(4)).tolist() == (2 * DENSE).sum(axis=1).tolist()
    assert (m.T @ np.ones(3)).tolist() == (2 * DENSE).sum(axis=0).tolist()
    assert (m @ np.ones((4, 2)))[:, 0].tolist() == (2 * DENSE).sum(axis=1).tolist()
    with pytest.raises(ValueError, match="3 values, not 4"):
        m.set_values(np.ones(3))


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda: spmv.matrix(DENSE), TypeError, "ndarray is no sparse matrix"),
        (lambda: spmv.matrix(sp.csr_array(DENSE), device="xpu"), ValueError, "xpu"),
        (lambda: spmv.matrix(sp.csr_array(DENSE), device=3), TypeError, "a device is a name"),
        (lambda: spmv.matrix(sp.csr_array(DENSE), device="cpu", algorithm="fast"), ValueError, "fast"),
        (lambda: spmv.matrix(sp.csr_array(DENSE), device="cpu", tune="no"), ValueError, "'quick'"),
        (lambda: spmv.matrix(sp.csr_array(DENSE), device="cpu", values="float64x"), TypeError, "float64x"),
        (lambda: spmv.matrix(sp.csr_array(DENSE), dtype="int32"), TypeError, "float32, float64, complex64 or complex128"),
        (lambda: spmv.matrix(([1.0], [0], [0, 1])), TypeError, "need a shape"),
        (lambda: spmv.matrix(([1.0], [7], [0, 1]), (1, 2)), ValueError, "."),
        (lambda: spmv.matrix(([1.0], [-1], [0, 1]), (1, 2)), ValueError, "."),
        (lambda: spmv.matrix(([1.0], [0], [0, 2]), (1, 2)), ValueError, "."),
        (lambda: spmv.matrix(([1.0, 1], [0, 1], [0, 2, 1]), (2, 2)), ValueError, "."),
        (lambda: spmv.matrix(([1.0], [0.0], [0, 1]), (1, 2)), TypeError, "integers"),
        (lambda: spmv.matrix(([1.0], [0], [0, 1]), (-1, 2)), ValueError, "at least 0"),
        (lambda: spmv.matrix(sp.csr_array(DENSE), device="cpu") @ np.ones(3), ValueError, "3 rows, not 4"),
        (lambda: spmv.matrix(sp.csr_array(DENSE), device="cpu") @ np.ones((4, 2, 2)), ValueError, "3 dimensions"),
        (lambda: spmv.matrix(sp.csr_array(DENSE), device="cpu") @ sp.csr_array(DENSE.T), TypeError, "two sparse"),
        (lambda: spmv.device("cpu", threads=0), (ValueError, spmv.SpmvError), "."),
    ],
)
def test_what_is_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_scipy_takes_it_as_an_operator():
    m = spmv.matrix(sp.csr_array(DENSE), device="cpu")
    for operator in (aslinearoperator(m), m.aslinearoperator()):
        assert operator.matvec(np.ones(4)).tolist() == DENSE.sum(axis=1).tolist()
        assert operator.rmatvec(np.ones(3)).tolist() == DENSE.sum(axis=0).tolist()
        assert operator.matmat(np.ones((4, 2))).shape == (3, 2)
    assert m.aslinearoperator().H.matvec(np.ones(3)).tolist() == DENSE.sum(axis=0).tolist()


def test_algorithms_by_name():
    a = CASES["random"]
    x = np.ones(a.shape[1])
    for algorithm in ("merge_path", "csr_vector", "sell", "spec_segsum"):
        m = spmv.matrix(a, device="cpu", algorithm=algorithm)
        assert m.algorithm == algorithm
        close(m @ x, a @ x, np.float64)
    tuned = spmv.matrix(a, device="cpu", tune="quick", expected_products=10)
    close(tuned @ x, a @ x, np.float64)


def test_threads_share_a_matrix():
    a = CASES["random"]
    m = spmv.matrix(a, device="cpu")
    x, expected = np.ones(400), a @ np.ones(400)
    wrong = []

    def multiply():
        for _ in range(200):
            if not np.allclose(m @ x, expected):
                wrong.append(1)

    threads = [threading.Thread(target=multiply) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


def test_what_is_shown():
    m = spmv.matrix(CASES["random"], device="cpu")
    assert repr(m).startswith("<spmv.Matrix 500 x 400, 6000 entries, float64, on cpu: ")
    page = m._repr_html_()
    assert "<svg" in page and "500 &times; 400" in page and m.algorithm in page
    assert spmv.matrix(sp.csr_array((3, 5)), device="cpu")._repr_html_()
    assert m.T._repr_html_()
    assert "cpu" in repr(m.device)
    with pytest.raises(TypeError):
        pickle.dumps(m)


def test_devices():
    listed = spmv.devices()
    assert listed[-1].backend == "cpu" and "float64" in listed[-1].dtypes
    assert all(isinstance(reason, str) and reason for _, reason in spmv.unavailable())
    one = spmv.device("cpu", threads=1)
    assert one.compute_units == 1
    assert (spmv.matrix(sp.csr_array(DENSE), device=one) @ np.ones(4)).tolist() == DENSE.sum(axis=1).tolist()


def test_a_device_is_opened_once():
    a, b = sp.csr_array(np.eye(3) * 4), np.ones(3)
    first = spmv.matrix(a)
    by_name = spmv.matrix(a, device=first.device.backend)
    x, info = spmv.linalg.cg(first, b, M=by_name)
    assert info == 0
    with pytest.raises(spmv.SpmvError, match="another"):
        spmv.linalg.cg(first, b, M=spmv.matrix(a, device=spmv.device("cpu", threads=1)))
