"""The parity check can fail: it catches adapters that are broken on purpose in the running system."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiment.arguments import WORKLOADS
from experiment.errors import EffectsDifferError, ParityError
from experiment.generator.shopload import BINARY, Shopload, Tape
from experiment.generator.tapes import parity_tape
from experiment.parity.across import check_topologies
from mesh.description.ports import Ports
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology

DOCUMENT = WORKLOADS / "document.yaml"
ONE_CENT_LESS = """
import shop.stubs.converters.protobuf.product as adapter
from shop.money import Money

adapter.decode_money = lambda message: Money(message.amount_minor - 1, message.currency)
"""
"""Module that a component loads before anything else: it makes prices wrong in the catalogue's answers over gRPC."""
FORGETS_THE_ADDRESS = """
import msgspec
import shop.user.postgres as adapter

async def forgetful(self, user_id, change, expected):
    user = await self.get(user_id)
    return msgspec.structs.replace(user, address=change.address or user.address)

adapter.PostgresUserStore.change = forgetful
"""
"""Module whose fault is visible only in the database: the answer is right and passes every check."""


@pytest.fixture
def shopload() -> Shopload:
    if not BINARY.is_file():
        pytest.skip("the generator is not built: run `make setup`")
    return Shopload(BINARY)


def broken(folder: Path, code: str) -> dict[str, str]:
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(code)
    return {"PYTHONPATH": str(folder)}


def check(shopload: Shopload, ports: Ports, names: list[str], extra: dict[str, dict[str, dict[str, str]]]) -> None:
    def tape(out: Path) -> Tape:
        return parity_tape(shopload, out, 2, seed=1, scale=1, workload=DOCUMENT, payload="10KB")

    topologies = [load_topology(name) for name in names]
    check_topologies(topologies, parse_switches(trace=0), ports, shopload, tape, say=print, extra=extra)


def test_a_gateway_that_answers_one_cent_less_is_caught(shopload: Shopload, tmp_path: Path, shop_ports: Ports) -> None:
    extra = {"hybrid": {"graphql-gateway": broken(tmp_path / "gateway", ONE_CENT_LESS)}}
    with pytest.raises(ParityError, match=r"product .*price\.amount_minor: \d+, expected \d+"):
        check(shopload, shop_ports, ["hybrid"], extra)


def test_a_service_that_answers_correctly_and_writes_nothing_is_caught(
    shopload: Shopload, tmp_path: Path, shop_ports: Ports
) -> None:
    extra = {"grpc": {"user": broken(tmp_path / "user", FORGETS_THE_ADDRESS)}}
    with pytest.raises(EffectsDifferError, match="the database of grpc differs from that of rest in: account"):
        check(shopload, shop_ports, ["rest", "grpc"], extra)
