"""Charts are rendered by processes of their own, which end with the one that started them."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil
import pytest

from hops.report.renderers import Renderers


def test_each_chart_is_its_own_however_many_are_rendered_at_once():
    renderers = Renderers(2)
    charts = [renderers.render({"mark": "point", "title": f"chart {number}"}) for number in range(6)]
    for number, chart in enumerate(charts):
        assert f">chart {number}<" in chart.result(30)
    renderers.close()


def test_a_process_that_ends_is_an_error_and_not_a_wait(capfd):
    renderers = Renderers(1)
    with pytest.raises(RuntimeError, match="renders charts ended with exit code 1"):
        renderers.render({"mark": "no such mark"}).result(30)
    renderers.close()
    assert "vegaLiteToSvg" in capfd.readouterr().err


@pytest.mark.parametrize("ending", ["pass", "os.kill(os.getpid(), 9)", "os._exit(3)"])
def test_they_end_with_the_process_that_started_them(ending):
    starts = f"""
import os, psutil
from hops.report.renderers import Renderers
renderers = Renderers(2)
print(*(child.pid for child in psutil.Process().children()), flush=True)
{ending}
"""
    done = subprocess.run([sys.executable, "-c", starts], stdout=subprocess.PIPE, text=True, check=False, timeout=60)
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) == 2
    until = time.monotonic() + 20
    while any(map(psutil.pid_exists, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not [pid for pid in pids if psutil.pid_exists(pid)]
