"""The memory settings of a process of the shop before it serves."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from shop.platform.config import ServiceConfig
from shop.platform.process.lifecycle import YOUNG_OBJECTS, launch
from shop.platform.process.runtime import Runtime


@pytest.fixture
def collector() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


@pytest.mark.usefixtures("collector")
def test_a_process_rarely_collects_garbage_and_skips_imported_objects() -> None:
    seen = []

    async def serve(_config: ServiceConfig, _runtime: Runtime) -> None:
        seen.append((gc.get_threshold()[0], gc.get_freeze_count() > 0))

    assert launch(serve, {"SHOP_COMPONENT": "product"}) == 0
    assert seen == [(YOUNG_OBJECTS, True)]
