"""Which Jaeger the set-up installs, and why: the official release from a stand-in server, or a compiled Jaeger."""

from __future__ import annotations

import hashlib
import io
import platform
import re
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mesh.errors import NotInstalledError
from mesh.paths import jaeger_has_pages, jaeger_pages, jaeger_version
from provision import golang, jaeger, step
from provision.errors import SetupError

STARTS = b'#!/bin/sh\necho "$@" > "$(dirname "$0")/../../arguments"\n'
FAILS = b"#!/bin/sh\necho no such instruction\nexit 1\n"
COMPILED = b"compiled"
NAME = f"jaeger-{jaeger.VERSION}-linux-amd64"
ARCHIVE = f"/v{jaeger.VERSION}/{NAME}.tar.gz"


class Releases(ThreadingHTTPServer):
    """A release page, whose server does not send the last `missing` bytes of a file.

    It falls silent after `silent_after` bytes, until `end` is set: 0 for before the answer, None for never.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.missing = 0
        self.silent_after: int | None = None
        self.end = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    server: Releases

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.server.silent_after == 0:
            self.server.end.wait(30)
            return
        body = self.server.files.get(self.path, b"")
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: self.server.silent_after or len(body) - self.server.missing])
        if self.server.silent_after:
            self.server.end.wait(30)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Releases]:
    """A release page with a program that starts, and a compiler that takes no time."""
    monkeypatch.setenv("HOPWISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("JAEGER", raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(jaeger, "BIN", tmp_path / "bin")
    monkeypatch.setattr(jaeger, "MACHINE", (platform.system(), platform.machine()))
    monkeypatch.setattr(golang, "build", lambda _name, _module, _package, into, _hint: into.write_bytes(COMPILED))
    monkeypatch.setattr(step, "LOGS", tmp_path / "logs")
    with Releases() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        monkeypatch.setenv("JAEGER_RELEASES", f"http://127.0.0.1:{server.server_port}/")
        _publish(server, monkeypatch, STARTS)
        yield server
        server.end.set()
        server.shutdown()
        thread.join()


def _publish(releases: Releases, monkeypatch: pytest.MonkeyPatch, program: bytes) -> None:
    """Puts an archive with a program on the page, and pins it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as files:
        entry = tarfile.TarInfo(f"{NAME}/jaeger")
        entry.size = len(program)
        files.addfile(entry, io.BytesIO(program))
    releases.files[ARCHIVE] = packed.getvalue()
    monkeypatch.setattr(jaeger, "SHA256", hashlib.sha256(packed.getvalue()).hexdigest())


def test_the_release_is_fetched_once_and_then_comes_from_the_cache(
    releases: Releases, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    link = tmp_path / "bin" / "jaeger"
    jaeger.install()
    assert link.read_bytes() == STARTS
    assert link.stat().st_mode & 0o111 == 0o111
    assert jaeger_has_pages(link, {})
    assert jaeger_version({"JAEGER_BIN": str(link)}) == f"jaeger-release-{jaeger.VERSION}-amd64"
    assert (tmp_path / "cache" / "arguments").read_text() == f"validate --config=file:{jaeger.CONFIG}\n"
    link.unlink()
    jaeger.install()
    assert link.read_bytes() == STARTS
    assert releases.asked == [ARCHIVE]
    line = f"Jaeger {jaeger.VERSION}: installed the official release, with its UI; its SHA-256 is the pinned one.\n"
    assert capfd.readouterr().err.count(line) == 2


def _spoil(
    releases: Releases,
    monkeypatch: pytest.MonkeyPatch,
    *,
    program: bytes = STARTS,
    more: bytes = b"",
    is_there: bool = True,
    listens: bool = True,
    missing: int = 0,
    silent_after: int | None = None,
    **limits_s: float,
) -> None:
    """Changes what the page answers, and the time limits of the download by their names."""
    _publish(releases, monkeypatch, program)
    releases.files = {ARCHIVE: releases.files[ARCHIVE] + more} if is_there else {}
    releases.missing, releases.silent_after = missing, silent_after
    for name, limit_s in limits_s.items():
        monkeypatch.setattr(jaeger, name, limit_s)
    if not listens:
        releases.shutdown()  # first, because a thread that waits for the socket keeps it open
        releases.socket.close()


@pytest.mark.parametrize(
    ("spoiled", "reason"),
    [
        ({"more": b"more"}, r"http://\S+ has the SHA-256 [0-9a-f]{64}, not the pinned [0-9a-f]{64}, and was discarded"),
        ({"is_there": False}, r"127\.0\.0\.1:\d+: the server answers 404 Not Found"),
        ({"program": FAILS}, rf"the release {jaeger.VERSION} does not start here: no such instruction"),
        ({"program": b"\x7fELF"}, r"the release \S+ does not start here: \S+ cannot be started: Exec format.*"),
        ({"listens": False}, r"127\.0\.0\.1:\d+: the connection fails: Connection refused"),
        ({"silent_after": 0, "CONNECT_S": 0.5}, r"127\.0\.0\.1:\d+: it does not answer within 0\.5 s"),
        ({"missing": 10}, r"127\.0\.0\.1:\d+: the connection ended after [\d,]+ of [\d,]+ bytes"),
        (
            {"silent_after": 10, "SILENCE_S": 0.5},
            r"127\.0\.0\.1:\d+: it produced no output for 0 s; the step was stopped",
        ),
        ({"silent_after": 10, "LIMIT_S": 0.5}, r"127\.0\.0\.1:\d+: it took longer than 0 s and was ended"),
    ],
)
def test_without_a_release_jaeger_is_compiled_and_one_line_says_why(
    releases: Releases,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    spoiled: dict[str, Any],
    reason: str,
) -> None:
    _spoil(releases, monkeypatch, **spoiled)
    jaeger.install()
    assert (tmp_path / "bin" / "jaeger").read_bytes() == COMPILED
    assert not jaeger_has_pages(tmp_path / "bin" / "jaeger", {})
    assert {file.name for file in jaeger.release_path().parent.iterdir()} == {".lock"}
    (line,) = re.findall(rf"^Jaeger {jaeger.BUILT_VERSION}: .*$", capfd.readouterr().err, re.MULTILINE)
    assert re.fullmatch(rf".* compiled here, without a UI, because {reason}\.", line), line

    monkeypatch.setenv("JAEGER", "release")
    with pytest.raises(SetupError, match=rf"^Jaeger {jaeger.VERSION}: {reason}\.\nCheck the network"):
        jaeger.install()


@pytest.mark.parametrize(
    ("variable", "value", "reason"), [("JAEGER", "build", "JAEGER=build says so"), ("CI", "true", "CI=true")]
)
def test_jaeger_is_compiled_on_request_and_in_ci(
    releases: Releases,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    variable: str,
    value: str,
    reason: str,
) -> None:
    jaeger.install()
    monkeypatch.setenv(variable, value)
    jaeger.install()
    assert (tmp_path / "bin" / "jaeger").read_bytes() == COMPILED
    assert len(releases.asked) == 1
    assert capfd.readouterr().err.endswith(f"because {reason}.\n")


def test_on_other_machines_jaeger_is_compiled(
    releases: Releases, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(jaeger, "MACHINE", ("Linux", "pdp11"))
    jaeger.install()
    assert releases.asked == []
    assert "because the pinned release is for Linux on pdp11, and this is " in capfd.readouterr().err


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("JAEGER", "bulid", r"JAEGER=bulid is unknown; valid: release, build, or no value\."),
        ("JAEGER_RELEASES", "/srv/jaeger", r"JAEGER_RELEASES=/srv/jaeger must begin with https:// or http://\."),
    ],
)
def test_malformed_variables_are_errors(
    releases: Releases, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SetupError, match=message):
        jaeger.install()
    assert releases.asked == []


def test_a_ui_must_be_one(tmp_path: Path) -> None:
    assert jaeger_pages({}) is None
    with pytest.raises(NotInstalledError, match=r"has no index\.html"):
        jaeger_pages({"JAEGER_UI": str(tmp_path)})
    (tmp_path / "index.html").touch()
    assert jaeger_pages({"JAEGER_UI": str(tmp_path)}) == tmp_path
