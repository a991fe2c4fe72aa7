"""`make audit-dependencies`: known vulnerabilities, licences of shipped packages, and secrets in the history.

The scanners print their findings. A scanner whose database does not answer fails, which counts as a finding.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from provision import docs, golang, graphiql, npm, router
from provision.environment import DOCS_LOCK, IMAGES, LOCK
from provision.paths import BIN, ROOT
from provision.step import say

OSV_SCANNER = "github.com/google/osv-scanner/v2/cmd/osv-scanner@v2.2.4"
GOVULNCHECK = "golang.org/x/vuln/cmd/govulncheck@v1.9.0"
GITLEAKS = "github.com/zricethezav/gitleaks/v8@v8.30.1"
RULES = ROOT / "osv-scanner.toml"
"""Accepted findings, with reasons; `.gitleaks.toml` lists false alarms about secrets."""
LICENCES = "0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause CC0-1.0 ISC MIT MIT-0 MPL-2.0 PSF-2.0 PostgreSQL Zlib"
"""Licences that an Apache-2.0 project may ship. MPL-2.0 requires publishing the source of changed files, but no
files are changed."""
SOURCES = {"load": "./...", "services/go": "./...", "load/tools": "github.com/bojand/ghz/cmd/ghz"}
PROGRAMS = ("jaeger", "kube-score", "toxiproxy-server", "istiod", "pilot-agent", "istioctl")
"""Our modules with the packages to scan, and other projects' programs that are built here."""
MODULES = ("load", "services/go", "observability/jaeger/build")
"""Go modules that are shipped."""
LIMIT_S = 900


def audit() -> int:
    """Runs all scanners; returns the exit code, 0 if everything was scanned and nothing was found."""
    failed = [title for title, argv, accepted in _scans() if not passes(title, argv, accepted)]
    missing = [name for name in PROGRAMS if not (BIN / name).exists()]
    say(f"NOT CHECKED, because they are not built: {', '.join(missing)}." if missing else "All programs were checked.")
    say(f"FAILED: {', '.join(failed)}." if failed else "No scan found anything to repair.")
    return 1 if failed else 0


def _scans() -> Iterator[tuple[str, list[str], frozenset[str]]]:
    """The title and command line of each scan, and the advisories that are accepted."""
    osv = [str(golang.tool(OSV_SCANNER, "osv-scanner")), "scan", "source", f"--config={RULES}"]
    shipped = [f"--lockfile=requirements.txt:{ROOT}/images/{name}.lock" for name in IMAGES if name != "build"]
    shipped += [f"--lockfile={ROOT}/{module}/go.mod" for module in MODULES]
    others = [f"--lockfile=requirements.txt:{lock}" for lock in (LOCK, DOCS_LOCK)]
    with tempfile.TemporaryDirectory() as scratch:
        browser = (("GraphiQL", graphiql.PACKAGES, shipped), ("Mermaid", (docs.MERMAID,), others))
        for title, pinned, lockfiles in browser:
            folder = Path(scratch, title)
            folder.mkdir()
            pins = {package.name: package.version for package in pinned}
            (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": pins}))
            locking = [npm.npm(), "install", "--package-lock-only", "--ignore-scripts", "--no-audit"]
            if passes(f"{title}'s packages", [*locking, f"--prefix={folder}"]):
                lockfiles.append(f"--lockfile={folder}/package-lock.json")
        yield "advisories for Python packages and Mermaid", [*osv, *others], frozenset()
        yield "advisories for router packages", [*osv, f"--lockfile={router.SOURCES}/package-lock.json"], frozenset()
        licences = f"--licenses={','.join(LICENCES.split())}"
        yield "licences and advisories for shipped packages", [*osv, licences, *shipped], frozenset()
    accepted = frozenset(one["id"] for one in tomllib.loads(RULES.read_text())["IgnoredVulns"])
    scanner = str(golang.tool(GOVULNCHECK, "govulncheck"))
    for module, packages in SOURCES.items():
        yield f"advisories for {module}", [scanner, "-C", str(ROOT / module), packages], accepted
    for program in (BIN / name for name in PROGRAMS):
        if program.exists():
            yield f"advisories for {program.name}", [scanner, "-mode=binary", str(program)], accepted
    gitleaks = str(golang.tool(GITLEAKS, "gitleaks"))
    yield "secrets", [gitleaks, "git", "--no-banner", "--redact", "--log-opts=HEAD", str(ROOT)], frozenset()


def passes(title: str, argv: list[str], accepted: frozenset[str] = frozenset()) -> bool:
    """Runs a scanner and prints its output; returns whether all advisories that it found are accepted.

    The advisories have their ids in Go's vulnerability database.
    """
    say(f"== {title}")
    try:
        done = subprocess.run(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        say(f"{argv[0]} took more than {LIMIT_S} s and was stopped.")
        return False
    print(done.stdout, end="", flush=True)
    called = set(re.findall(r"^Vulnerability #\d+: (\S+)", done.stdout, re.MULTILINE))
    return done.returncode == 0 or bool(called and called <= accepted)
