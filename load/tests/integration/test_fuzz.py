"""A few bad inputs with a fixed seed to every surface of a shop and to the harness; `make fuzz` is the long version."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from fuzz.experiment_files import Harness
from fuzz.inputs import Input
from fuzz.run import PLACES, Budget, Outcome, fuzz
from mesh.description.ports import Ports
from mesh.paths import RunFolder

pytestmark = pytest.mark.timeout(300)
SEED, INPUTS = 1, 100


# The services' REST APIs have the same resources as the gateway, and the edge turns gRPC-Web into gRPC. Both are left
# to `make fuzz`, because starting another shop takes longer than the inputs.
@pytest.mark.parametrize("place", ["hybrid", "grpc", "connect", "harness"])
def test_no_bad_input_does_harm(place: str, tmp_path: Path, shop_ports: Ports) -> None:
    outcome = Outcome(SEED, tmp_path)
    fuzz(outcome, Budget(inputs=INPUTS), shop_ports, RunFolder.of(shop_ports.base), print, places=[place])
    assert [f"{failure.what}: {failure.files}" for failure in outcome.failures] == []
    assert set(outcome.counts) == set(PLACES[place])
    for surface, counts in outcome.counts.items():
        assert counts.total() == INPUTS
        assert counts["refused"], f"nothing of {surface} is bad"
    assert any(counts["answered"] for counts in outcome.counts.values()), "nothing is good enough to get far"


def test_a_dying_reader_fails_its_file_and_a_new_reader_reads_the_next(tmp_path: Path) -> None:
    with Harness(tmp_path / "files") as harness:
        valid = Input("topology.yaml", harness.valid["topology.yaml"][0])
        before = psutil.Process().children()
        (reader,) = [child for child in before if "multiprocessing.spawn" in " ".join(child.cmdline())]
        reader.kill()
        (died,) = harness.try_inputs("harness", [valid])
        assert died[:2] == ("unanswered", "topology.yaml: its reader died, or took more than 60 s")
        (read,) = harness.try_inputs("harness", [valid])
        assert read[:2] == ("answered", "")
