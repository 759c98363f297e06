from typing import Any, Literal, Optional, Union

from numpy.typing import DTypeLike

from ._spmv import Device, Matrix

def matrix(
    a: Any,
    shape: Optional[tuple[int, int]] = None,
    *,
    device: Union[Device, str, None] = None,
    dtype: Optional[DTypeLike] = None,
    values: Optional[DTypeLike] = None,
    algorithm: Optional[str] = None,
    tune: Optional[Literal["quick", "thorough"]] = None,
    expected_products: Optional[int] = None,
) -> Matrix: ...
