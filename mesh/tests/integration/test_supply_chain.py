"""The audit's tools find what is there, and say what they could not ask for."""

from __future__ import annotations

import json
import os
import re
import secrets as random
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from stand_ins.containers import image, needs_containers

from mesh.paths import ROOT

sys.path.insert(0, str(ROOT / "mesh"))  # set-up runs from the checkout, before anything is installed

from provision import images
from provision.paths import BIN, VENV
from provision.supply_chain import advisories, checks, contents
from provision.supply_chain.audit import INCOMPLETE, verdict
from provision.supply_chain.checks import Finding
from provision.supply_chain.secrets import secrets

# Its tools are built first, and what they ask for is on the internet.
pytestmark = pytest.mark.e2e


def test_an_old_python_package_is_found(tmp_path: Path) -> None:
    lock = tmp_path / "old.lock"
    lock.write_text("pyyaml==5.3\n")
    check = advisories.python(lock)
    if check.unchecked:
        assert verdict([check]) == INCOMPLETE
        assert "the 1 packages of old.lock" in check.unchecked[0]
        pytest.skip(f"no database of Python's advisories answers: {check.unchecked[0]}")
    assert {finding.where for finding in check.findings} == {"pyyaml 5.3"}


class MadeUpOsv(BaseHTTPRequestHandler):
    """OSV's API for two packages."""

    def do_POST(self) -> None:
        package = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["package"]
        ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "9.0"}]}]
        vulnerability = {"id": "PYSEC-1", "summary": "Made up", "affected": [{"package": package, "ranges": ranges}]}
        answer = {"vulns": [vulnerability]} if package["name"] in ("jinja2", "pyyaml") else {}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: object) -> None:
        pass


def test_a_mirror_of_osv_can_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "old.lock"
    lock.write_text("pyyaml==5.3\ncertifi==2026.10.18\n")
    monkeypatch.setattr(advisories, "SERVICES", {"osv": "OSV"})
    with ThreadingHTTPServer(("127.0.0.1", 0), MadeUpOsv) as server:
        monkeypatch.setenv("OSV_URL", f"http://127.0.0.1:{server.server_port}")
        Thread(target=server.serve_forever, daemon=True).start()
        check = advisories.python(lock)
        server.shutdown()
    assert check.findings == [Finding("pyyaml 5.3", "PYSEC-1", "Made up (mended in 9.0)")]
    assert (check.looked_at, check.unchecked) == ("2 packages, asked of OSV", [])


def test_npm_says_whether_it_could_ask() -> None:
    check = advisories.npm()
    if check.unchecked:
        assert verdict([check]) == INCOMPLETE
        pytest.skip(f"npm's audit does not answer: {check.unchecked[0]}")
    assert "graphiql" in check.looked_at


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database in a folder, with one advisory, about a function that the generator calls."""
    module, changed = "golang.org/x/net", "2026-01-01T00:00:00Z"
    affected = {
        "package": {"name": module, "ecosystem": "Go"},
        "ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}, {"fixed": "9.0.0"}]}],
        "ecosystem_specific": {"imports": [{"path": f"{module}/http2", "symbols": ["Framer.ReadFrame"]}]},
    }
    advisory = {
        "schema_version": "1.3.1",
        "id": "GO-2026-0001",
        "modified": changed,
        "summary": "Made up",
        "affected": [affected],
    }
    row = {"id": "GO-2026-0001", "modified": changed}
    for name, content in {
        "index/db.json": {"modified": changed},
        "index/modules.json": [{"path": module, "vulns": [{**row, "fixed": "9.0.0"}]}],
        "index/vulns.json": [row],
        "ID/GO-2026-0001.json": advisory,
    }.items():
        file = tmp_path / "database" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content))
    monkeypatch.setenv("GOVULNDB", f"file://{tmp_path}/database")
    return tmp_path / "database"


def test_a_vulnerable_function_in_a_go_program_is_found_until_it_is_accepted(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = {"shopload": BIN / "shopload"}
    (found,) = advisories.go(programs, {}).findings
    assert (found.id, found.reason) == ("GO-2026-0001", "")
    assert found.where.startswith("shopload: golang.org/x/net v")
    assert found.detail == "Made up (mended in v9.0.0)"

    accepting = tmp_path / "accepting.toml"
    accepting.write_text('[advisories]\nGO-2026-0001 = {reason = "Nobody else reaches it.", date = 2026-02-03}\n')
    monkeypatch.setattr(checks, "TABLE", accepting)
    (accepted,) = advisories.go(programs, {}).findings
    assert accepted.reason == "Nobody else reaches it. (2026-02-03)"


def test_go_s_database_that_does_not_answer_is_said(database: Path) -> None:
    (database / "index" / "modules.json").unlink()
    check = advisories.go({"shopload": BIN / "shopload", "istiod": None}, {})
    assert not check.findings
    assert check.unchecked[0] == "istiod: it is not built (make istio)"
    assert check.unchecked[1].startswith("shopload: ")
    assert verdict([check]) == INCOMPLETE


def test_the_contents_list_what_the_images_lock() -> None:
    check = contents.licences({"python": contents.components("python", f"dir:{VENV}")})
    assert not check.unchecked
    assert not [finding for finding in check.findings if not finding.reason]


@needs_containers
def test_an_image_s_own_list_of_contents_has_what_it_locks(tmp_path: Path) -> None:
    images.copy_contents(images.engine(os.environ), image("shop"), tmp_path / "shop.cdx.json")
    listed = {
        (each["name"], each["version"]) for each in json.loads((tmp_path / "shop.cdx.json").read_text())["components"]
    }
    assert ("aiohttp", re.search(r"^aiohttp==(\S+)", (ROOT / "images" / "shop.lock").read_text(), re.M)[1]) in listed  # type: ignore[index]


def test_a_key_is_found_even_where_a_later_commit_took_it_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "AKIA" + "".join(random.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") for _ in range(16))
    git = ["git", "-C", str(tmp_path), "-c", "user.name=test", "-c", "user.email=test@localhost"]
    subprocess.run([*git, "init", "--quiet"], check=True, timeout=60)
    for content in ("nothing\n", f"nothing\naws_key = '{key}'\n", "nothing again\n"):
        (tmp_path / "settings.py").write_text(content)
        subprocess.run([*git, "add", "settings.py"], check=True, timeout=60)
        subprocess.run([*git, "commit", "--quiet", "-m", "A change"], check=True, timeout=60)
    check = secrets(tmp_path)
    (leak,) = check.findings
    assert (leak.where, leak.id) == ("settings.py:2", "aws-access-token")
    assert key not in str(check)
    assert check.looked_at == "3 commits"
    accepting = tmp_path / "accepting.toml"
    accepting.write_text('[secrets]\n"settings.py aws-access-token" = "Made up."\n')
    monkeypatch.setattr(checks, "TABLE", accepting)
    assert [leak.reason for leak in secrets(tmp_path).findings] == ["Made up."]
