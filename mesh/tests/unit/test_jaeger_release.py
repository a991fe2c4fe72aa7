"""The official Jaeger: fetched from a server that stands in for the release page, and checked against its checksums."""

from __future__ import annotations

import hashlib
import io
import sys
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mesh.paths import ROOT, jaeger_has_pages, jaeger_pages

sys.path.insert(0, str(ROOT / "mesh"))  # set-up runs from the checkout, before anything is installed

from mesh.errors import NotInstalledError
from provision import golang, jaeger
from provision.errors import SetupError

PROGRAM = b"#!/bin/sh\necho Jaeger\n"
NAME = f"jaeger-{jaeger.VERSION}-linux-amd64"
SUMS = f"/{jaeger.TAG}/jaeger-{jaeger.VERSION}.sha256sum.txt"
ARCHIVE = f"/{jaeger.TAG}/{NAME}.tar.gz"


class Releases(ThreadingHTTPServer):
    """A release page.

    Attributes:
        files: What it has, by path.
        asked: Paths that it was asked for.
        hangs: Whether it answers nobody until `hung` is set.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = {ARCHIVE: _archive(f"{NAME}/jaeger")}
        self.files[SUMS] = _line(self.files[ARCHIVE])
        self.asked: list[str] = []
        self.hangs, self.hung = False, threading.Event()


class _Handler(BaseHTTPRequestHandler):
    server: Releases

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.server.hangs:
            self.server.hung.wait(30)
            return
        body = self.server.files.get(self.path)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_: object) -> None:
        pass


def _archive(member: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as files:
        entry = tarfile.TarInfo(member)
        entry.size = len(PROGRAM)
        files.addfile(entry, io.BytesIO(PROGRAM))
    return packed.getvalue()


def _line(archive: bytes) -> bytes:
    return f"{hashlib.sha256(archive).hexdigest()} *{NAME}.tar.gz\n{'0' * 64} *another.zip\n".encode()


@pytest.fixture
def releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Releases]:
    monkeypatch.setenv("HOPWISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(jaeger, "BIN", tmp_path / "bin")
    monkeypatch.setattr(jaeger.platform, "machine", lambda: "x86_64")
    with Releases() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        monkeypatch.setenv("JAEGER_RELEASES", f"http://127.0.0.1:{server.server_port}/")
        yield server
        server.hung.set()
        server.shutdown()
        thread.join()


def test_the_release_is_that_of_the_module() -> None:
    assert f"{jaeger.DEPENDENCY} {jaeger.TAG}\n" in (jaeger.MODULE / "go.mod").read_text()


def test_it_is_fetched_once_and_then_in_place_of_a_built_one(
    releases: Releases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "bin" / "jaeger"
    jaeger.fetch_release()
    assert link.read_bytes() == PROGRAM
    assert link.stat().st_mode & 0o111 == 0o111
    assert jaeger_has_pages(link, {})
    assert releases.asked == [SUMS, ARCHIVE]
    monkeypatch.setattr(golang, "build", lambda *_: pytest.fail("Jaeger was built"))
    link.unlink()
    jaeger.build()
    jaeger.fetch_release()
    assert link.read_bytes() == PROGRAM
    assert releases.asked == [SUMS, ARCHIVE]


@pytest.mark.parametrize(
    ("path", "bytes_given", "message"),
    [
        (ARCHIVE, _archive(f"{NAME}/another"), r"SHA-256 [0-9a-f]{64}, and the release's checksums say [0-9a-f]{64}"),
        (SUMS, b"nothing of it\n", r"checksums have no line for jaeger-2\.13\.0-linux-amd64\.tar\.gz"),
        (SUMS, None, "answered 404 Not Found"),
    ],
)
def test_other_bytes_are_refused_and_leave_nothing(
    releases: Releases, tmp_path: Path, path: str, bytes_given: bytes | None, message: str
) -> None:
    if bytes_given is None:
        del releases.files[path]
    else:
        releases.files[path] = bytes_given
    with pytest.raises(SetupError, match=message):
        jaeger.fetch_release()
    assert not (tmp_path / "bin").exists()
    assert [file.name for file in (tmp_path / "cache").rglob("*") if file.is_file()] == [".lock"]


def test_an_archive_without_the_program_is_named(releases: Releases) -> None:
    releases.files[ARCHIVE] = _archive(f"{NAME}/another")
    releases.files[SUMS] = _line(releases.files[ARCHIVE])
    with pytest.raises(SetupError, match=f"has no program {NAME}/jaeger"):
        jaeger.fetch_release()


def test_a_server_that_hangs_is_left(releases: Releases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaeger, "SILENCE_S", 0.2)
    releases.hangs = True
    with pytest.raises(SetupError, match=r"does not answer: .*timed out(?s:.*)JAEGER_RELEASES"):
        jaeger.fetch_release()


def test_a_server_that_takes_too_long_is_left(releases: Releases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaeger, "LIMIT_S", 0.0)
    with pytest.raises(SetupError, match="took longer than 0 s"):
        jaeger.fetch_release()


@pytest.mark.usefixtures("releases")
def test_what_cannot_be_fetched_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAEGER_RELEASES", "/srv/jaeger")
    with pytest.raises(SetupError, match="JAEGER_RELEASES=/srv/jaeger is no address"):
        jaeger.fetch_release()
    monkeypatch.setattr(jaeger.platform, "machine", lambda: "riscv64")
    with pytest.raises(SetupError, match="x86_64, aarch64, and this is riscv64"):
        jaeger.fetch_release()


def test_a_ui_must_be_one(tmp_path: Path) -> None:
    assert jaeger_pages({}) is None
    with pytest.raises(NotInstalledError, match=r"has no index\.html"):
        jaeger_pages({"JAEGER_UI": str(tmp_path)})
    (tmp_path / "index.html").touch()
    assert jaeger_pages({"JAEGER_UI": str(tmp_path)}) == tmp_path
