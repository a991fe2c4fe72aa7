"""A network's name means the same in the generator, the results and the documentation."""

from __future__ import annotations

from hops.run.network import NAMED as IN_RESULTS
from mesh.description.network import NAMED
from mesh.paths import ROOT


def test_a_network_s_name_means_the_same_everywhere() -> None:
    text = (ROOT / "docs" / "experiments" / "customer-network.md").read_text(encoding="utf-8")
    assert list(IN_RESULTS) == list(NAMED)
    for name, line in NAMED.items():
        network = IN_RESULTS[name]
        mbit = [rate / 1e6 if rate else None for rate in (line.down_bits_per_s, line.up_bits_per_s)]
        assert [network.rtt_ms, network.down_mbit, network.up_mbit] == [line.rtt_ms, *mbit]
        rates = " | ".join("no limit" if rate is None else f"{rate:,g}" for rate in mbit)
        assert f"| `{name}` | {line.rtt_ms:g} | {rates} | " in text
