"""Arrays on a CUDA device whose library knows DLPack (https://dmlc.github.io/dlpack/latest) and no `__cuda_array_interface__`."""

import ctypes

# Types of devices: memory of a CUDA device, and managed memory.
_CUDA, _MANAGED = 2, 13
# Kinds of numbers that NumPy has letters for.
_LETTERS = {0: "i", 1: "u", 2: "f", 5: "c"}


class _Tensor(ctypes.Structure):
    """`DLTensor`, the first member of what a capsule holds."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Borrowed:
    """What an array holds, with the interface of CUDA arrays. The capsule is not taken over, so that it frees the array with itself."""

    def __init__(self, x):
        # The stream is the default one: its next work begins when the array is filled.
        self._capsule = x.__dlpack__(stream=1)
        tensor = _Tensor.from_address(_pointer_of(self._capsule, b"dltensor"))
        if tensor.lanes != 1 or tensor.code not in _LETTERS or tensor.bits % 8:
            raise TypeError(f"numbers of DLPack's type {tensor.code} with {tensor.bits} bits and {tensor.lanes} lanes are not known here")
        size, n = tensor.bits // 8, range(tensor.ndim)
        self.of = x
        self.__cuda_array_interface__ = {
            "shape": tuple(tensor.shape[i] for i in n),
            "strides": tuple(size * tensor.strides[i] for i in n) if tensor.strides else None,
            "typestr": f"<{_LETTERS[tensor.code]}{size}",
            # Nobody says whether it may be written.
            "data": ((tensor.data or 0) + tensor.byte_offset, True),
            "version": 3,
            "stream": 1,
        }


def borrowed(x):
    """The array as one with the interface of CUDA arrays; None if it is on no CUDA device."""
    device = getattr(x, "__dlpack_device__", None)
    return Borrowed(x) if device is not None and device()[0] in (_CUDA, _MANAGED) else None
