"""The two minimal components in docs/system/your-component.md do what that page says about them."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mesh.paths import ROOT
from otlp_collector import Collector
from provision import golang

from .doors import LIMIT_S, GrpcDoor

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture(params=["Python", "Go"])
def command(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    if request.param == "Python":
        return [sys.executable, str(ROOT / "docs" / "example" / "minimal_component.py")]
    program = tmp_path / "minimal"
    golang.build("A minimal component", golang.SERVICES, "./examples/minimal", program, "1 min the first time")
    return [str(program)]


def test_a_minimal_component_is_ready_leaves_a_span_and_ends(
    command: list[str], free_address: str, collector: Collector
) -> None:
    env = {
        "SHOP_COMPONENT": "product",
        "SHOP_CONTRACT": "1",
        "SHOP_LISTEN_GRPC": free_address,
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
    }
    other = env | {"SHOP_CONTRACT": "2"}
    refused = subprocess.run(command, env=other, capture_output=True, timeout=LIMIT_S, check=False)
    assert (refused.returncode, b"error: SHOP_CONTRACT" in refused.stderr) == (2, True)
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE) as process:
        door = GrpcDoor(free_address, "product")
        try:
            until = time.monotonic() + LIMIT_S
            while not door.serves() and time.monotonic() < until and process.poll() is None:
                time.sleep(0.05)
            assert door.serves()
            call = door.channel.unary_unary("/shop.product.v1.ProductService/GetProduct")
            for flag in ("00", "01"):
                answer = call.future(b"", metadata=(("traceparent", f"00-{TRACE}-{CALLER}-{flag}"),), timeout=LIMIT_S)
                assert answer.code().name == "UNIMPLEMENTED"
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=LIMIT_S) == 0
        finally:
            process.kill()
            door.close()
    (span,) = collector.spans
    assert span.name == "shop.product.v1.ProductService/GetProduct"
    assert (span.kind, span.trace_id.hex(), span.parent_span_id.hex()) == (span.SPAN_KIND_SERVER, TRACE, CALLER)
