"""An edge that is untrusted, or unreachable over UDP, ends a run before its load, and the message says why."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from stand_ins import edge_run

from experiment.errors import GeneratorError
from experiment.generator.shopload import BINARY, Shopload, Tape
from experiment.generator.tapes import parity_tape
from mesh.components.keys import key_pair
from mesh.description.ports import Ports
from mesh.description.topology import load_topology
from mesh.edge.component import ACCESS_LOG
from mesh.edge.plan import EdgePlan
from mesh.paths import RunFolder
from mesh.sidecars.certificates import issue, make_authority

TOPOLOGY = load_topology("rest")


@dataclass(frozen=True, slots=True)
class Case:
    """A faulty edge, and the expected message."""

    says: str
    names: Sequence[str] = ("127.0.0.1", "localhost")
    days: float = 1
    foreign: bool = False
    quic: bool = True


CASES = {
    "expired": Case("certificate has expired", days=-0.001),
    "foreign": Case("certificate signed by unknown authority", foreign=True),
    "for another name": Case("cannot validate certificate for 127.0.0.1", names=["shop.example"]),
}
CLOSED = Case("HTTP/3 needs UDP at this port, which a firewall may block: let it pass, or choose HTTP/2", quic=False)


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Tape:
    return parity_tape(Shopload(BINARY), tmp_path_factory.mktemp("tape") / "tape.jsonl", 1, seed=1, scale=1)


@pytest.mark.parametrize("case", [*CASES.values(), CLOSED], ids=[*CASES, "no UDP"])
def test_an_edge_is_refused(case: Case, tape: Tape, free_ports: Callable[[], Ports], tmp_path: Path) -> None:
    ports = free_ports()
    folder = RunFolder.of(ports.base, root=tmp_path)
    signer = make_authority(tmp_path / "signer", "edge", identity="")
    shown = issue(signer, case.names, tmp_path / "shown", days=case.days)
    trusted = make_authority(tmp_path / "other", "edge", identity="").root_cert if case.foreign else shown.trusted
    access_log = folder.logs / ACCESS_LOG
    plan = EdgePlan(TOPOLOGY, ports, access_log, certificate=shown, quic=case.quic)
    with edge_run(plan, ports, folder):
        for http in (2, 3) if case.quic else (3,):
            target = tmp_path / f"target-{http}.json"
            target.write_text(json.dumps(target_of(ports, folder, trusted, http)))
            with pytest.raises(GeneratorError) as refused:
                Shopload(BINARY).sample(tape, target, tmp_path / "answers.jsonl")
            assert f"https://127.0.0.1:{ports['edge']} does not answer" in str(refused.value)
            assert case.says in str(refused.value)
            if case is not CLOSED:
                assert f"signed by the one in {trusted}" in str(refused.value)
    assert not access_log.exists() or access_log.read_text() == ""


def target_of(ports: Ports, folder: RunFolder, trusted: Path, http: int) -> dict[str, object]:
    entry = {"protocol": "rest-services", "url": f"https://127.0.0.1:{ports['edge']}"}
    return {
        "topology": TOPOLOGY.name,
        "trial": "refused",
        "http": http,
        "ca_certificate": str(trusted),
        "entry": {channel.value: entry for channel in TOPOLOGY.entry},
        "jwt_private_key": str(key_pair(folder.keys).private),
    }
