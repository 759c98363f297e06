"""Arrays on a CUDA device, where there is one; and what is said where there is none."""

import numpy as np
import pytest
import scipy.sparse as sp

import spmv
from spmv import _cuda

CUDA = [device for device in spmv.devices() if device.backend == "cuda"]
needs_cuda = pytest.mark.skipif(not CUDA, reason="there is no CUDA device")


def libraries():
    for name in ("cupy", "torch"):
        try:
            module = __import__(name)
        except ImportError:
            continue
        yield pytest.param(module, id=name)


def on_device(library, a):
    return library.asarray(a) if library.__name__ == "cupy" else library.as_tensor(a, device="cuda")


def on_host(a):
    return a.get() if hasattr(a, "get") else a.cpu().numpy()


@pytest.fixture(params=list(libraries()))
def library(request):
    if not CUDA:
        pytest.skip("there is no CUDA device")
    return request.param


@pytest.fixture
def a():
    return sp.random_array((600, 500), density=0.05, format="csr", rng=np.random.default_rng(2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products(library, a, dtype):
    a = a.astype(dtype)
    m = spmv.matrix(a, device=CUDA[0])
    x, block = np.ones(500, dtype), np.arange(2000, dtype=dtype).reshape(500, 4) / 500
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    for host, product in ((x, m), (np.ones(600, dtype), m.T), (block, m)):
        found = product @ on_device(library, host)
        assert type(found) is type(on_device(library, host))
        expected = (a.T if product is not m else a) @ host
        np.testing.assert_allclose(on_host(found), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_products_of_complex_matrices(library, a, dtype):
    a = a.astype(dtype)
    a.data *= np.exp(1j * np.arange(a.nnz)).astype(dtype)
    m = spmv.matrix(a, device=CUDA[0])
    rows, columns = (np.exp(2j * np.arange(n)).astype(dtype) for n in a.shape)
    tolerance = 1e-4 if dtype == np.complex64 else 1e-12
    for product, x, expected in (
        (m, columns, a @ columns),
        (m.T, rows, a.T @ rows),
        (m.H, rows, a.conj().T @ rows),
        (m.H.T, columns, a.conj() @ columns),
    ):
        found = product @ on_device(library, x)
        assert type(found) is type(on_device(library, x))
        np.testing.assert_allclose(on_host(found), expected, rtol=tolerance, atol=tolerance)
    # The vector is as it was.
    x = on_device(library, rows)
    m.H @ x
    np.testing.assert_array_equal(on_host(x), rows)


def test_what_is_not_contiguous_is_copied(library, a):
    m = spmv.matrix(a, device=CUDA[0])
    host = np.arange(1200.0)
    array = on_device(library, host)
    np.testing.assert_allclose(on_host(m @ array[:1000:2]), a @ host[:1000:2])
    np.testing.assert_allclose(on_host(m @ array[1:501]), a @ host[1:501])


def test_out(library, a):
    m = spmv.matrix(a, device=CUDA[0])
    x, y = on_device(library, np.ones(500)), on_device(library, np.zeros(600))
    assert m.matvec(x, out=y) is y
    np.testing.assert_allclose(on_host(y), a @ np.ones(500))
    with pytest.raises(TypeError, match="out must be"):
        m.matvec(x, out=np.zeros(600))
    with pytest.raises(TypeError, match="out must be"):
        m.matvec(x, out=y[:3])
    square = spmv.matrix(sp.eye_array(500, format="csr"), device=CUDA[0])
    with pytest.raises(ValueError, match="in common"):
        square.matvec(x, out=x)


def test_earlier_work_of_the_library_is_waited_for(library, a):
    m = spmv.matrix(a, device=CUDA[0])
    for _ in range(20):
        x = on_device(library, np.zeros(500))
        big = on_device(library, np.ones((3000, 3000)))
        for _ in range(3):
            big = big @ big / 3000
        x += big[0, 0]
        y = m @ x
        np.testing.assert_allclose(on_host(y), a @ np.ones(500), rtol=1e-9)


def test_solvers(library):
    n = 900
    a = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsr()
    m = spmv.matrix(a, device=CUDA[0])
    b = on_device(library, np.sin(np.arange(n)))
    x, info = spmv.linalg.cg(m, b, rtol=1e-10)
    assert info == 0 and type(x) is type(b)
    np.testing.assert_allclose(a @ on_host(x), np.sin(np.arange(n)), atol=1e-8)
    again = spmv.linalg.solve(m, b, x0=x, rtol=1e-8)
    assert again.iterations == 0 and again.x is not x


def test_refusals(library, a):
    m = spmv.matrix(a, device=CUDA[0])
    with pytest.raises(ValueError, match="3 rows, not 500"):
        m @ on_device(library, np.ones(3))
    with pytest.raises(TypeError, match="<f4, the matrix float64"):
        m @ on_device(library, np.ones(500, np.float32))
    with pytest.raises(TypeError, match="the matrix on cpu"):
        spmv.matrix(a, device="cpu") @ on_device(library, np.ones(500))


class Pretends:
    """What says that it is on a CUDA device, and is nowhere."""

    def __init__(self, **changed):
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": (4,),
            "typestr": "<f8",
            "data": (1 << 40, False),
            "strides": None,
            "stream": None,
            **changed,
        }


def test_a_matrix_elsewhere_refuses_them():
    m = spmv.matrix(sp.eye_array(4, format="csr"), device="cpu")
    if not any(backend == "cuda" for backend, _ in spmv.unavailable()) and not CUDA:
        pytest.skip("built without CUDA")
    y = Pretends(data=(1 << 41, False))
    with pytest.raises(TypeError, match="the matrix on cpu"):
        m.matvec(Pretends(), out=y)
    with pytest.raises(TypeError, match="give an array for the result"):
        m @ Pretends()
    with pytest.raises(ValueError, match="not contiguous"):
        m.matvec(Pretends(strides=(16,)), out=y)
    with pytest.raises(TypeError, match="<f4"):
        m.matvec(Pretends(typestr="<f4"), out=y)
    with pytest.raises(ValueError, match="in common"):
        m.matvec(Pretends(), out=Pretends())


@needs_cuda
def test_addresses_of_nothing_are_refused():
    m = spmv.matrix(sp.eye_array(4, format="csr"), device=CUDA[0])
    with pytest.raises(spmv.SpmvError):
        m.matvec(Pretends(), out=Pretends(data=(1 << 41, False)))


class Dlpack:
    """An array of NumPy that says that it is on another device, to those who read DLPack."""

    def __init__(self, array, device):
        self.array, self.device, self.streams = array, device, []

    def __dlpack_device__(self):
        return (self.device, 0)

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return self.array.__dlpack__()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_dlpack_says_what_the_array_is(dtype):
    array = np.zeros((16, 4), dtype)
    start = -array.ctypes.data % 16 // array.itemsize
    array = array.reshape(-1)[start : start + 48].reshape(12, 4)
    x = Dlpack(array, 2)
    object, address, shape, stream = _cuda.operand(x, np.dtype(dtype))
    assert (address, shape, stream, x.streams) == (array.ctypes.data, (12, 4), 1, [1])
    assert object.of is x
    with pytest.raises(TypeError, match="out=: how tests.test_cuda|out=: how test_cuda"):
        _cuda.result(object, None, (3,), np.dtype(dtype))
    with pytest.raises(TypeError, match="convert one of them"):
        _cuda.operand(x, np.dtype("f2"))
    with pytest.raises(ValueError, match="not contiguous"):
        _cuda.operand(Dlpack(array[:, 1:], 2), np.dtype(dtype))


def test_dlpack_of_the_host_is_left_to_numpy():
    x = Dlpack(np.ones(3), 1)
    assert _cuda.operand(x, np.dtype("f8")) is None and x.streams == []


def test_dlpack_and_a_matrix_on_cores():
    # A package without CUDA knows it for no array at all.
    m = spmv.matrix(sp.eye_array(64, format="csr"), device="cpu")
    with pytest.raises(TypeError, match="out=|real numbers are needed"):
        m @ Dlpack(np.ones(64), 2)
