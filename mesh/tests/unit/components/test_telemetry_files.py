from __future__ import annotations

import json
from pathlib import Path

from mesh.components.telemetry_files import CacheCounts, SpanAccount, cache_counts, span_accounts
from mesh.paths import RunFolder


def test_accounts_are_read_by_process(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert span_accounts(folder) == {}
    folder.telemetry.mkdir()
    account = {"recorded": 3, "exported": 2, "lost": 1, "export_cpu_s": 0.5, "cost_ns": {"SERVER": 5_000}}
    (folder.telemetry / "order-2.json").write_text(json.dumps(account))
    (folder.telemetry / "order.partial").write_text("{")
    assert span_accounts(folder) == {"order-2": SpanAccount(3, 2, 1, 0.5, {"SERVER": 5_000})}


def test_cache_requests_during_a_load_are_summed_by_component(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert cache_counts(folder, 0.0, 1e10) == {}
    (folder.telemetry / "cache").mkdir(parents=True)
    for name in ("product", "product-2", "product-canary"):
        seconds = [[99, 1_000, 1_000, 1_000], [100, 4, 3, 0], [104, 2, 1, 1], [105, 1_000, 1_000, 1_000]]
        (folder.telemetry / "cache" / f"{name}.json").write_text(json.dumps(seconds))
    assert span_accounts(folder) == {}
    both = CacheCounts(6, 4, 1)
    assert cache_counts(folder, 100.7, 104.2) == {"product": CacheCounts(12, 8, 2), "product-canary": both}
