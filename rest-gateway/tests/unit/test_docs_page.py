"""Swagger UI, without anything from elsewhere."""

from __future__ import annotations

import re

import httpx
import pytest


@pytest.mark.ours
async def test_the_page_needs_nothing_from_elsewhere(api: httpx.AsyncClient) -> None:
    page = await api.get("/docs")

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    links = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(links) == 3
    for link in links:
        assert link.startswith("/docs/")
        assert (await api.get(link)).status_code == 200
    assert "/openapi.json" in page.text
    assert "https://" not in page.text


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("swagger-ui-bundle.js", "text/javascript"),
        ("swagger-ui.css", "text/css"),
        ("favicon-32x32.png", "image/png"),
    ],
)
@pytest.mark.ours
async def test_its_parts_have_their_types(api: httpx.AsyncClient, name: str, media_type: str) -> None:
    answer = await api.get(f"/docs/{name}")

    assert answer.headers["content-type"] == media_type
    assert answer.content
