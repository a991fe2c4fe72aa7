"""gzip, for clients that accept it and where it pays off."""

from __future__ import annotations

import httpx
import pytest

from shop.platform.http.compression import MIN_BYTES, accepts_gzip


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        *[(header, True) for header in ("gzip", "GZIP", "x-gzip", "br;q=1.0, gzip;q=0.8, *;q=0.1", "*")],
        *[(header, False) for header in (None, "", "identity", "br, deflate", "gzip;q=0", "gzip;q=0.000, *")],
        *[(header, False) for header in ("gzip; q=nonsense", "*;q=0")],
    ],
)
def test_clients_that_accept_gzip(header: str | None, accepted: bool) -> None:
    assert accepts_gzip(header) is accepted


async def test_a_large_answer_is_compressed(api: httpx.AsyncClient) -> None:
    plain = await api.get("/v1/products")
    packed = await api.get("/v1/products", headers={"accept-encoding": "gzip"})
    assert len(plain.content) >= MIN_BYTES
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(plain.content)
    assert packed.json() == plain.json()


async def test_a_small_answer_is_not(api: httpx.AsyncClient) -> None:
    answer = await api.get("/v1/products/3", headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in answer.headers
    assert answer.headers["vary"] == "accept-encoding"
