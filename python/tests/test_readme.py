"""What is written about the package holds: the README as typed, and the types."""

import pathlib
import re
import subprocess
import sys

import pytest

README = pathlib.Path(__file__).parents[1] / "README.md"


def test_the_readme():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(blocks) >= 5
    # In one scope, as a reader types them.
    scope = {}
    for block in blocks:
        exec(block, scope)


def test_the_types_are_those_of_the_code(tmp_path):
    pytest.importorskip("mypy", reason="types are checked by mypy")
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nignore_missing_imports = True\n")
    command = [
        sys.executable,
        "-m",
        "mypy.stubtest",
        "spmv",
        "--ignore-missing-stub",
        "--mypy-config-file",
        str(config),
    ]
    did = subprocess.run(command, cwd=README.parent, capture_output=True, text=True, timeout=300)
    assert did.returncode == 0, did.stdout
