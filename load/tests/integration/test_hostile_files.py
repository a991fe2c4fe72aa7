"""Commands refuse hostile files quickly, with little memory, and with plain messages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mesh.paths import ROOT

ALIASES = "name: x\nnetworks:\n  a: &a [x, x, x]\n" + "".join(
    f"  {one}: &{one} [{', '.join([f'*{chr(ord(one) - 1)}'] * 9)}]\n" for one in "bcdefghi"
)
MAX_MIB = 200
# Reads the peak memory of this program alone; the figure from `resource` would include the process that started it.
RUN = """import re, runpy
try:
    runpy.run_module("experiment", run_name="__main__")
finally:
    print(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1])
"""


@pytest.mark.parametrize(
    ("option", "text", "says"),
    [
        ("workload", ALIASES, "odd.yaml:4: not valid YAML: aliases are not accepted"),
        ("topology", ALIASES, "odd.yaml:4: not valid YAML: aliases are not accepted"),
        ("workload", "name: x\nmix: " + "[" * 5000, "odd.yaml:2: "),
        ("topology", "name: x\nabout: " + "[" * 5000, "odd.yaml:2: not valid YAML: it is nested more than 16 levels"),
        ("workload", "name: x\n\xff", "odd.yaml:2: "),
        ("topology", 'name: x\n"\\e]0;x\\a": 1\n', "odd.yaml:"),
    ],
)
def test_a_hostile_file_costs_little_and_leaves_nothing(tmp_path: Path, option: str, text: str, says: str) -> None:
    file = tmp_path / "odd.yaml"
    file.write_bytes(text.encode("latin-1"))
    argv = [sys.executable, "-c", RUN, "bench", "--profile", "smoke", f"--{option}", str(file)]
    environ = {**os.environ, "SHOP_PORT_BASE": "28800"}
    results = sorted((ROOT / "results").glob("*"))
    ended = subprocess.run(argv, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2, ended.stderr
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not set("\x1b\x07\x9b") & set(ended.stderr)
    assert int(ended.stdout.split()[-1]) < MAX_MIB * 1024, ended.stdout
    assert sorted((ROOT / "results").glob("*")) == results
