"""What other processes see: imports, forks."""

import multiprocessing
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import spmv


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


def test_import_prints_nothing_and_opens_nothing():
    did = run("import spmv, sys; assert 'scipy' not in sys.modules")
    assert (did.returncode, did.stdout, did.stderr) == (0, "", "")


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def in_child(code):
    """Runs code in a child that is forked after products on the CPU."""
    return run(
        "import os, sys, numpy as np, scipy.sparse as sp, spmv\n"
        "a = sp.random_array((4000, 4000), density=0.07, format='csr', rng=np.random.default_rng(0))\n"
        "x = np.ones(4000)\n"
        "m = spmv.matrix(a, device='cpu')\n"
        "expected = m @ x\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    status = 1\n"
        "    try:\n" + "".join(f"        {line}\n" for line in code.splitlines()) + "        status = 0\n"
        "    finally:\n"
        "        os._exit(status)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )


@needs_fork
def test_a_child_multiplies_with_what_its_parent_prepared():
    did = in_child("assert (m @ x == expected).all()")
    assert did.returncode == 0, did.stderr


@needs_fork
def test_a_child_prepares_and_solves():
    did = in_child(
        "spd = sp.csr_array(a + a.T + 500 * sp.eye_array(4000))\ny, info = spmv.linalg.cg(spd, x)\nassert info == 0"
    )
    assert did.returncode == 0, did.stderr


@needs_fork
def test_a_child_reads_and_transposes_on_threads_of_its_own():
    did = in_child("assert np.allclose(spmv.matrix(a, device='cpu').T @ x, a.T @ x)")
    assert did.returncode == 0, did.stderr


@needs_fork
def test_a_child_of_a_child_multiplies_too():
    did = in_child(
        "assert (m @ x == expected).all()\n"
        "inner = os.fork()\n"
        "if inner == 0: os._exit(0 if (m @ x == expected).all() else 3)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1]) == 0"
    )
    assert did.returncode == 0, did.stderr


@needs_fork
def test_a_child_is_refused_what_a_fork_does_not_copy():
    did = run(
        "import os, numpy as np, scipy.sparse as sp, spmv\n"
        "others = [d for d in spmv.devices() if d.backend != 'cpu'] + [spmv.device('cpu', threads=2)]\n"
        "ms = [spmv.matrix(sp.csr_array(np.eye(3)), device=d) for d in others]\n"
        "[m @ np.ones(3) for m in ms]\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    refused = 0\n"
        "    for m in ms:\n"
        "        try: m @ np.ones(3)\n"
        "        except spmv.SpmvError as e: refused += 'forked' in str(e)\n"
        "    n = len(ms)\n"
        "    del ms, m, others\n"
        "    import gc; gc.collect()\n"
        "    os._exit(0 if refused == n else 1)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0\n"
    )
    assert did.returncode == 0, did.stderr


def product(n):
    return float((spmv.matrix(sp.eye_array(n, format="csr"), device="cpu") @ np.ones(n)).sum())


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_pools_of_processes(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no such method")
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.map(product, [10]) == [10.0]
