"""The benchmark of the platform's share on real processes: each bare framework answers as the shop does."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from mesh.description.ports import Ports
from platform_bench.__main__ import ALL_CASES, main

pytestmark = pytest.mark.integration


def test_every_case_runs(
    free_ports: Callable[[], Ports], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHOP_PORT_BASE", str(free_ports().base))
    code = main(["--rounds", "2", "--calls", "200", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert [case["case"] for case in result["cases"]] == [case.name for case in ALL_CASES]
    assert result["holds"] == (code == 0)
    assert all(min(case["shop_us"] + case["bare_us"]) > 0 for case in result["cases"])
