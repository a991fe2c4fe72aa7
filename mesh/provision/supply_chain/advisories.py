"""Known vulnerabilities, asked of the databases that each ecosystem keeps.

A database that cannot be reached must not look like one that knows nothing: pip-audit, for one, says "no known
vulnerabilities" of packages that it could not ask for. Where an answer can be empty, an old package with known
vulnerabilities is therefore asked for first.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from provision import golang, graphiql
from provision.environment import LOCK
from provision.paths import BIN, ROOT, VENV
from provision.supply_chain.checks import Check, Finding, ask, cause, table

GOVULNCHECK = "golang.org/x/vuln/cmd/govulncheck@v1.9.0"
SERVICES = {"pypi": "PyPI", "osv": "OSV"}
"""What pip-audit can ask, in turn until one answers, each with its name for people."""
KNOWN_PYTHON, KNOWN_NPM = ("jinja2", "2.10"), ("lodash", "4.17.4")
"""Each has vulnerabilities that every database knows."""
PROGRAMS = {
    "jaeger": "make setup",
    "kube-score": "make kube-score",
    "toxiproxy-server": "make toxiproxy",
} | dict.fromkeys(("istiod", "pilot-agent", "istioctl"), "make istio")
"""Programs of other projects that are built here, each with what builds it."""
SOURCES = {"load": "./...", "services/go": "./...", "load/tools": "github.com/bojand/ghz/cmd/ghz"}
"""Modules that are looked at in source, each with its packages."""


def python(lock: Path = LOCK) -> Check:
    """Looks for vulnerabilities of the Python packages of a lock file.

    The environment's `OSV_URL` names another address of OSV's API, such as a mirror.

    Args:
        lock: The lock file.
    """
    title, causes = "advisories, Python", []
    with tempfile.TemporaryDirectory() as scratch:
        known = Path(scratch, "known.txt")
        known.write_text("==".join(KNOWN_PYTHON))
        for service, name in SERVICES.items():
            answers, why = _pip_audit(service, known)
            if not any(answer.get("vulns") for answer in answers):
                causes.append(f"{name} {why or 'does not know ' + '=='.join(KNOWN_PYTHON)}")
                continue
            packages, why = _pip_audit(service, lock)
            unchecked = [f"{each['name']}: {each['skip_reason']}" for each in packages if "skip_reason" in each]
            found = [
                Finding(
                    f"{package['name']} {package['version']}",
                    vulnerability["id"],
                    _mended(vulnerability["description"], ", ".join(vulnerability["fix_versions"])),
                    _reason(vulnerability["id"], *vulnerability["aliases"]),
                )
                for package in packages
                for vulnerability in package.get("vulns", ())
            ]
            return Check(
                title, f"{len(packages)} packages, asked of {name}", found, [*([why] if why else []), *unchecked]
            )
    pins = len(re.findall(r"^\S+==", lock.read_text(), re.MULTILINE))
    return Check(title, "nothing", unchecked=[f"the {pins} packages of {lock.name}: {'; '.join(causes)}"])


def go(programs: Mapping[str, Path | None] | None = None, sources: Mapping[str, str] = SOURCES) -> Check:
    """Looks for vulnerabilities of Go modules whose code can be reached.

    The environment's `GOVULNDB` names another database than Go's, such as a copy in a folder (`file:///path`).

    Args:
        programs: The programs by their names, each None where it is not built; `PROGRAMS` by default.
        sources: Packages to look at in source, by the folder of their module.
    """
    if programs is None:
        programs = {name: BIN / name if (BIN / name).exists() else None for name in PROGRAMS}
    program = golang.go(ROOT / "load")
    scanner = [str(golang.tool(GOVULNCHECK, "govulncheck")), "-format=json"]
    scanner += ["-db", os.environ["GOVULNDB"]] if os.environ.get("GOVULNDB") else []
    searched = f"{Path(program).parent}{os.pathsep}{os.environ['PATH']}"
    targets: dict[str, Sequence[str]] = {name: ("-C", str(ROOT / name), each) for name, each in sources.items()}
    targets |= {name: ("-mode=binary", str(path)) for name, path in programs.items() if path}
    unchecked = [f"{name}: it is not built ({PROGRAMS[name]})" for name, path in programs.items() if not path]
    found: list[Finding] = []
    looked_at, uncalled = [], 0
    for name, arguments in targets.items():
        done = ask([*scanner, *arguments], limit_s=900, variables={**golang.ENVIRONMENT, "PATH": searched})
        if done.returncode != 0:
            unchecked.append(f"{name}: {cause(done)}")
            continue
        called, others = _reached(done.stdout)
        found += [
            Finding(f"{name}: {module}", advisory, text, _reason(advisory))
            for advisory, (module, text) in called.items()
        ]
        uncalled += others
        looked_at.append(name)
    more = f"; {uncalled} more in code that nothing calls" if uncalled else ""
    return Check("advisories, Go", (", ".join(looked_at) or "nothing") + more, found, unchecked)


def npm() -> Check:
    """Looks for vulnerabilities of GraphiQL's packages and of what they bundle."""
    title, names = "advisories, npm", ", ".join(package.name for package in graphiql.PACKAGES)
    pins = {**{package.name: package.version for package in graphiql.PACKAGES}, KNOWN_NPM[0]: KNOWN_NPM[1]}
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "package.json").write_text(json.dumps({"private": True, "dependencies": pins}))
        program = graphiql.npm()
        locking = (program, "install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--logs-max=0")
        done = ask(locking, Path(scratch), variables=graphiql.LIMITS)
        if done.returncode == 0:
            done = ask((program, "audit", "--json", "--logs-max=0"), Path(scratch), variables=graphiql.LIMITS)
    try:
        vulnerable = json.loads(done.stdout).get("vulnerabilities", {})
    except ValueError:
        vulnerable = {}
    if KNOWN_NPM[0] not in vulnerable:
        why = done.stderr.partition("\n")[0] or cause(done)
        return Check(title, "nothing", unchecked=[f"{names}: the npm registry's audit does not answer: {why}"])
    found = [
        Finding(name, Path(via["url"]).name, via["title"], _reason(Path(via["url"]).name))
        for name, row in vulnerable.items()
        for via in row["via"]
        if name != KNOWN_NPM[0] and isinstance(via, dict)  # the others name the package that they have it from
    ]
    return Check(title, f"{names} and what they bundle", found)


def _pip_audit(service: str, requirements: Path) -> tuple[Sequence[Mapping[str, Any]], str]:
    """What pip-audit says of each package, and why it says nothing."""
    options = ["--format=json", "--progress-spinner=off", "--disable-pip", "--no-deps", "--timeout=15"]
    options += [f"--osv-url={os.environ['OSV_URL']}"] if os.environ.get("OSV_URL") else []
    argv = [str(VENV / "bin" / "pip-audit"), *options, f"--vulnerability-service={service}", "-r", str(requirements)]
    done = ask(argv, limit_s=900)
    try:
        return json.loads(done.stdout)["dependencies"], ""
    except ValueError:
        return [], f"does not answer: {cause(done)}"


def _reached(output: str) -> tuple[Mapping[str, tuple[str, str]], int]:
    """The advisories whose code is called, each with its module and what it is, and how many others there are."""
    called: dict[str, tuple[str, str]] = {}
    titles: dict[str, str] = {}
    known: set[str] = set()
    for message in _messages(output):
        if "osv" in message:
            titles[message["osv"]["id"]] = message["osv"].get("summary", "")
        if "finding" in message:
            finding = message["finding"]
            advisory, at, fixed = finding["osv"], finding["trace"][0], finding.get("fixed_version", "")
            known.add(advisory)
            # One advisory can be about several modules: the one that a version mends is named.
            if "function" in at and (fixed or advisory not in called):
                module = f"{at['module']} {at.get('version', '')}".strip()
                called[advisory] = module, _mended(titles.get(advisory, ""), fixed)
    return called, len(known - called.keys())


def _messages(output: str) -> Iterator[dict[str, Any]]:
    decoder, rest = json.JSONDecoder(), output.lstrip()
    while rest:
        message, end = decoder.raw_decode(rest)
        yield message
        rest = rest[end:].lstrip()


def _mended(text: str, fixed: str) -> str:
    first = (text.strip().splitlines() or [""])[0][:100]
    return f"{first} ({f'mended in {fixed}' if fixed else 'not mended'})"


def _reason(*names: str) -> str:
    accepted = table().get("advisories", {})
    return next((f"{accepted[name]['reason']} ({accepted[name]['date']})" for name in names if name in accepted), "")
