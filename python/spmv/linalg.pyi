from typing import Any, Callable, Literal, Optional, Union

from numpy.typing import ArrayLike, NDArray

from ._spmv import Device, Outcome as Outcome, Preconditioner as Preconditioner, Progress as Progress

__all__ = [
    "Outcome",
    "Preconditioner",
    "Progress",
    "bicgstab",
    "block_jacobi",
    "cg",
    "gmres",
    "jacobi",
    "lsmr",
    "minres",
    "solve",
]

_Callback = Callable[[Progress], Any]

def solve(
    a: Any,
    b: ArrayLike,
    *,
    method: Literal["cg", "bicgstab", "minres", "gmres", "lsmr"] = "cg",
    x0: Optional[ArrayLike] = None,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: Optional[int] = None,
    restart: Optional[int] = None,
    M: Any = None,
    callback: Optional[_Callback] = None,
    check_every: int = 10,
) -> Outcome: ...
def cg(
    A: Any,
    b: ArrayLike,
    x0: Optional[ArrayLike] = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: Optional[int] = None,
    M: Any = None,
    callback: Optional[_Callback] = None,
    check_every: int = 10,
) -> tuple[NDArray[Any], int]: ...

bicgstab = cg
minres = cg

def gmres(
    A: Any,
    b: ArrayLike,
    x0: Optional[ArrayLike] = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: Optional[int] = None,
    maxiter: Optional[int] = None,
    M: Any = None,
    callback: Optional[_Callback] = None,
    check_every: int = 10,
) -> tuple[NDArray[Any], int]: ...
def lsmr(
    A: Any,
    b: ArrayLike,
    x0: Optional[ArrayLike] = None,
    *,
    rtol: float = 1e-6,
    atol: float = 0.0,
    maxiter: Optional[int] = None,
    callback: Optional[_Callback] = None,
    check_every: int = 10,
) -> tuple[NDArray[Any], int]: ...
def jacobi(A: Any, *, device: Union[Device, str, None] = None) -> Preconditioner: ...
def block_jacobi(A: Any, block: int, *, device: Union[Device, str, None] = None) -> Preconditioner: ...
