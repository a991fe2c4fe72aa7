"""An edge that is untrusted, or unreachable over UDP, ends a run before its load, and the message says why."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from experiment.errors import GeneratorError
from experiment.generator.shopload import BINARY, Shopload, Tape
from experiment.generator.tapes import parity_tape
from mesh.components.keys import key_pair
from mesh.description.ports import Ports
from mesh.description.topology import load_topology
from mesh.edge.component import ACCESS_LOG, edge_component
from mesh.edge.plan import edge_plan
from mesh.paths import RunFolder
from mesh.sidecars.certificates import Certificate, issue, make_authority
from mesh.supervisor.processes import Component
from mesh.supervisor.run import Run

pytestmark = pytest.mark.integration

TOPOLOGY = load_topology("rest")
HOSTS = ["127.0.0.1", "localhost"]


class EdgeRun(Run):
    """Only an Envoy, with a given certificate; nothing behind it is ever called."""

    def __init__(self, ports: Ports, folder: RunFolder, certificate: Certificate, *, quic: bool) -> None:
        super().__init__(ports, folder)
        self.certificate = certificate
        self.quic = quic

    def port_names(self) -> list[str]:
        return ["edge"]

    def components(self) -> Sequence[Component]:
        access_log = self.logs / ACCESS_LOG
        plan = edge_plan(TOPOLOGY, self.ports, access_log, certificate=self.certificate, quic=self.quic)
        return [edge_component("envoy", plan, self.folder, os.environ)]


@dataclass(frozen=True, slots=True)
class Case:
    """A faulty edge, and the expected message."""

    says: str
    names: Sequence[str] = tuple(HOSTS)
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
    with EdgeRun(ports, folder, shown, quic=case.quic) as run:
        for http in (2, 3) if case.quic else (3,):
            target = tmp_path / f"target-{http}.json"
            target.write_text(json.dumps(target_of(ports, folder, trusted, http)))
            with pytest.raises(GeneratorError) as refused:
                Shopload(BINARY).sample(tape, target, tmp_path / "answers.jsonl")
            assert f"https://127.0.0.1:{ports['edge']} does not answer" in str(refused.value)
            assert case.says in str(refused.value)
            if case is not CLOSED:
                assert f"signed by the one in {trusted}" in str(refused.value)
        log = run.logs / ACCESS_LOG
    assert not log.exists() or log.read_text() == ""


def target_of(ports: Ports, folder: RunFolder, trusted: Path, http: int) -> dict[str, object]:
    entry = {"protocol": "rest-services", "url": f"https://127.0.0.1:{ports['edge']}"}
    return {
        "topology": TOPOLOGY.name,
        "trial": "refused",
        "http": http,
        "ca_certificate": str(trusted),
        "entry": {channel.value: entry for channel in TOPOLOGY.entry},
        "jwt_private_key": str(key_pair(folder).private),
    }
