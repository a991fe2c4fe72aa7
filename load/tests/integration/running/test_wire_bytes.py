"""Compares the generator's count of bytes with a packet capture of the same connections."""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from experiment.generator.shopload import BINARY, Load, Shopload, Tape, stop
from mesh.native.system import System
from mesh.paths import ROOT

TCPDUMP = shutil.which("tcpdump") or shutil.which("tcpdump", path="/usr/sbin:/sbin") or ""
pytestmark = [
    pytest.mark.skipif(
        not TCPDUMP,
        reason="the bytes were not checked against a capture, because there is no tcpdump: apt-get install tcpdump",
    ),
]

SECONDS = 3.0
RATE = 30.0
WITHIN_S = 10.0
QUIET_S = 0.5
SNAP_BYTES = 160
"""Number of bytes to keep of each packet: its Ethernet, IPv4 and TCP headers with all options."""
CLOSE = 0.01
VERSIONS = {"rest": (2, 1), "grpc": (2,), "hybrid over TLS": (3, 2, 1), "grpc over TLS": (2,)}
"""The shops, and the versions of HTTP that their clients speak."""

# https://www.tcpdump.org/manpages/pcap-savefile.5.html, in this machine's byte order as libpcap writes it.
FILE_HEADER = struct.Struct("=IHHiIII")
PACKET_HEADER = struct.Struct("=IIII")
MAGIC = {0xA1B2C3D4, 0xA1B23C4D}
ETHERNET = 1
IPV4 = 0x0800
UDP = 17
UDP_HEADER_BYTES = 8
FIN, SYN, RST = 0x01, 0x02, 0x04


@dataclass
class Flow:
    """One direction of a connection, with its payload counted once despite retransmissions.

    Attributes:
        next: The next sequence number; None before the first packet.
        missed: Bytes that are missing from the capture.
        ended: Whether the capture has the end of this direction.
    """

    next: int | None = None
    payload: int = 0
    missed: int = 0
    ended: bool = False

    def add(self, sequence: int, length: int, flags: int) -> None:
        """Counts the new bytes of a packet."""
        if flags & SYN:
            self.next = (sequence + 1) % 2**32
            return
        ends = bool(flags & (FIN | RST))
        if self.ended or not (length or ends):
            return  # an acknowledgement
        self.ended = ends
        if self.next is None:
            self.next = sequence
        ahead = (sequence - self.next + 2**31) % 2**32 - 2**31
        new = ahead + length
        if new <= 0:
            return
        self.missed += max(ahead, 0)
        self.payload += min(new, length)
        self.next = (sequence + length) % 2**32


@dataclass
class CapturedTraffic:
    port: int
    flows: dict[tuple[int, int], Flow] = field(default_factory=dict)

    def add(self, frame: bytes) -> None:
        if struct.unpack_from("!H", frame, 12)[0] != IPV4:
            return
        ip = frame[14:]
        header = (ip[0] & 0x0F) * 4
        total = struct.unpack_from("!H", ip, 2)[0]
        source, target, sequence = struct.unpack_from("!HHI", ip, header)
        assert total, "a packet is larger than its header can say"
        if ip[9] == UDP:
            flow = self.flows.setdefault((source, target), Flow(ended=True))
            flow.payload += total - header - UDP_HEADER_BYTES
            return
        length = total - header - (ip[header + 12] >> 4) * 4
        self.flows.setdefault((source, target), Flow()).add(sequence, length, ip[header + 13])

    @property
    def to_clients(self) -> int:
        """Bytes that clients received."""
        return sum(flow.payload for (source, _), flow in self.flows.items() if source == self.port)

    @property
    def to_port(self) -> int:
        """Bytes that clients sent."""
        return sum(flow.payload for (_, target), flow in self.flows.items() if target == self.port)

    @property
    def whole(self) -> bool:
        """Whether the capture has all bytes and the end of every connection."""
        sent = [flow for (_, target), flow in self.flows.items() if target == self.port]
        return all(flow.ended for flow in sent) and not any(flow.missed for flow in self.flows.values())


def read_capture(path: Path, port: int) -> CapturedTraffic:
    """Counts the payload of a capture's TCP and UDP packets."""
    capture = path.read_bytes()
    magic, *_, link = FILE_HEADER.unpack_from(capture)
    assert magic in MAGIC
    assert link == ETHERNET
    traffic, at = CapturedTraffic(port), FILE_HEADER.size
    while at < len(capture):
        _, _, kept, _ = PACKET_HEADER.unpack_from(capture, at)
        at += PACKET_HEADER.size
        traffic.add(capture[at : at + kept])
        at += kept
    return traffic


@contextmanager
def capture_packets(port: int, path: Path) -> Iterator[None]:
    """Captures a port's loopback packets during the block; skips the test if that is impossible."""
    options = f"-i lo -n -U --immediate-mode -s {SNAP_BYTES} -B 16384 -w".split()
    argv = [*tcpdump(), *options, str(path), f"port {port}"]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    output = await_start(process)
    if output:
        pytest.skip(f"the bytes were not checked against a capture, because tcpdump cannot make one here: {output}")
    try:
        yield
        await_rest(path)
    finally:
        process.send_signal(signal.SIGINT)
        _, last_words = process.communicate(timeout=WITHIN_S)
    assert "\n0 packets dropped by kernel" in last_words, last_words


def tcpdump() -> list[str]:
    """Returns the command. If root runs it, tcpdump stays root: its default user may not write to the test's folder."""
    return [TCPDUMP, "-Z", "root"] if os.geteuid() == 0 else [TCPDUMP]


def await_start(process: subprocess.Popen[str]) -> str:
    """Waits until the capture has begun; returns tcpdump's output if it ended instead, otherwise an empty text."""
    assert process.stderr is not None
    printed = []
    limit = threading.Timer(WITHIN_S, process.kill)
    limit.start()
    try:
        for line in process.stderr:
            if "listening on" in line:
                return ""
            printed.append(line.strip())
    finally:
        limit.cancel()
    process.communicate(timeout=WITHIN_S)
    return "; ".join(printed) or f"it did not begin within {WITHIN_S:g} s"


def await_rest(path: Path) -> None:
    """Waits until the capture no longer grows: a stopped tcpdump drops unwritten packets."""
    limit, size = time.monotonic() + WITHIN_S, -1
    while path.stat().st_size != size and time.monotonic() < limit:
        size = path.stat().st_size
        time.sleep(QUIET_S)


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Tape:
    """A tape with every journey, for data that no other test changes."""
    out = tmp_path_factory.mktemp("tape") / "tape.jsonl"
    workload = ROOT / "load" / "workloads" / "even.yaml"
    return Shopload(BINARY).tape(workload, out, seed=11, rate=RATE, duration_s=SECONDS, scale=1)


@pytest.mark.parametrize(("shop", "versions"), VERSIONS.items(), indirect=["shop"], scope="package")
def test_every_byte_on_the_wire_is_counted(shop: System, versions: Sequence[int], tape: Tape, tmp_path: Path) -> None:
    for http in versions:
        folder = tmp_path / f"http-{http}"
        folder.mkdir()
        check_bytes(shop, tape, folder, http)


def check_bytes(running: System, tape: Tape, folder: Path, http: int) -> None:
    """Replays a tape over a version of HTTP, and compares the generator's count with a capture."""
    target = folder / "target.json"
    target.write_text(json.dumps(json.loads(running.target.read_text()) | {"http": http}))
    capture = folder / "edge.pcap"
    with capture_packets(running.ports["edge"], capture):
        shopload = Shopload(BINARY)
        replay = shopload.start_replay(Load(tape, SECONDS), target, folder, trace=0.0)
        try:
            shopload.finish_replay(replay)
        finally:
            stop(replay)
    figures = json.loads((folder / "generator.json").read_text())
    # On a busy machine an answer may be late; its bytes still count.
    assert sum(figures["outcomes"].values()) == tape.journeys
    assert figures["outcomes"]["ok"] > tape.journeys / 2
    assert figures["http"] == http
    carried = read_capture(capture, running.ports["edge"])
    assert carried.whole
    counted = {
        "in": figures["wire_bytes_in"] + figures["opening_bytes_in"],
        "out": figures["wire_bytes_out"] + figures["opening_bytes_out"],
    }
    print(
        f"{running.topology.name}, http={http}: counted {counted}, captured in {carried.to_clients}, "
        f"out {carried.to_port}, {len(carried.flows)} flows"
    )
    assert carried.to_clients > 100_000
    assert counted["in"] == pytest.approx(carried.to_clients, rel=CLOSE)
    assert counted["out"] == pytest.approx(carried.to_port, rel=CLOSE)
