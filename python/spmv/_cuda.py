"""Arrays that are on a CUDA device already: of CuPy, PyTorch, Numba, and whatever else has `__cuda_array_interface__` or DLPack."""

import math
import sys

from ._dlpack import borrowed

# Of addresses that kernels take.
_ALIGNMENT = 16


def _is_of(x, library):
    """Whether an array is of a library, which is then imported."""
    return library in sys.modules and type(x).__module__.split(".")[0] == library


def _copied(x):
    if _is_of(x, "torch"):
        return x.clone(memory_format=sys.modules["torch"].contiguous_format)
    if _is_of(x, "cupy"):
        return x.copy(order="C")
    raise ValueError("the array is not contiguous, or begins at an address that is no multiple of 16; copy it")


def _stream(x, face):
    """The handle of the stream that fills x; None where there is nothing to wait for."""
    if face["version"] >= 3:
        return face.get("stream")
    if _is_of(x, "torch"):
        return sys.modules["torch"].cuda.current_stream(x.device).cuda_stream
    # The default stream, which waits for others too.
    return 1


def operand(x, dtype, what="x"):
    """The array itself, its address, shape and stream; None if it is on no CUDA device. It is copied only where kernels cannot take it."""
    face = getattr(x, "__cuda_array_interface__", None)
    if face is None:
        x = borrowed(x)
        return None if x is None else operand(x, dtype, what)
    if face["typestr"] != dtype.str:
        raise TypeError(f"{what} has type {face['typestr']}, the matrix {dtype}: convert one of them")
    if face.get("mask") is not None:
        raise TypeError(f"{what} has a mask")
    shape = face["shape"]
    if len(shape) not in (1, 2):
        raise ValueError(f"{what} has {len(shape)} dimensions, not 1 or 2")
    if not _is_contiguous(face, dtype) or face["data"][0] % _ALIGNMENT:
        return operand(_copied(x), dtype, what)
    return x, face["data"][0], shape, _stream(x, face)


def result(x, out, shape, dtype):
    """Where a product with x goes: `out`, or a new array of the library of x, on its device."""
    if out is not None:
        face = getattr(out, "__cuda_array_interface__", None)
        fits = (
            face is not None
            and face["typestr"] == dtype.str
            and tuple(face["shape"]) == tuple(shape)
            and not face["data"][1]
            and _is_contiguous(face, dtype)
            and face["data"][0] % _ALIGNMENT == 0
        )
        if not fits:
            raise TypeError(f"out must be a writable C-contiguous CUDA array of {dtype} and shape {tuple(shape)}")
        return out, face["data"][0], shape, _stream(out, face)
    return operand(_empty(x, shape), dtype)


def _empty(x, shape):
    if _is_of(x, "torch"):
        return x.new_empty(shape)
    if _is_of(x, "cupy"):
        with x.device:
            return sys.modules["cupy"].empty(shape, x.dtype)
    library = type(getattr(x, "of", x)).__module__
    raise TypeError(f"give an array for the result by out=: how {library} makes one is not known")


def solution(b, x0, n, dtype):
    """Where a solver begins: a copy of `x0`, or zeros, next to b."""
    x = _empty(b, (n,))
    x[...] = 0 if x0 is None else x0
    return operand(x, dtype)


def _is_contiguous(face, dtype):
    strides, shape = face.get("strides"), face["shape"]
    if strides is None or 0 in shape:
        return True
    expected = [dtype.itemsize * math.prod(shape[i + 1 :]) for i in range(len(shape))]
    # A stride that is never taken may be anything.
    return all(n == 1 or found == wanted for n, found, wanted in zip(shape, strides, expected))
