"""Swagger UI, which loads nothing from elsewhere."""

from __future__ import annotations

import re

import httpx
import pytest


@pytest.mark.ours
async def test_the_page_loads_nothing_from_elsewhere(api: httpx.AsyncClient) -> None:
    page = await api.get("/docs")

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    links = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(links) == 3
    kinds = {"js": "text/javascript", "css": "text/css", "png": "image/png"}
    for link in links:
        assert link.startswith("/docs/")
        part = await api.get(link)
        assert (part.status_code, part.headers["content-type"]) == (200, kinds[link.rpartition(".")[2]])
        assert part.content
    assert "/openapi.json" in page.text
    assert "https://" not in page.text
