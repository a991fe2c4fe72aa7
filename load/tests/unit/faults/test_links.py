from __future__ import annotations

import pytest

from experiment.faults.links import _Toxiproxy

from ...http_server import http_server


def test_a_proxy_of_the_environment_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with http_server(lambda *_: (201, {"listen": "127.0.0.1:9"})) as url:
        assert _Toxiproxy(url).add("link-1", "127.0.0.1:5") == "127.0.0.1:9"
