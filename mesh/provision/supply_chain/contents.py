"""What is in the things that are shipped, as CycloneDX documents, and under which licences."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from provision import golang, graphiql, jaeger
from provision.environment import IMAGES
from provision.errors import SetupError
from provision.paths import BIN, ROOT, SBOM, VENV
from provision.supply_chain.checks import Check, Finding, ask, cause, table

SYFT = {"SYFT_CHECK_FOR_APP_UPDATE": "false", "SYFT_GOLANG_SEARCH_LOCAL_MOD_CACHE_LICENSES": "true"}
GO_PROGRAMS = {"shopload": (ROOT / "load", "./cmd/shopload"), "jaeger": (jaeger.MODULE, jaeger.COMMAND)}
"""Programs of the images, each with its module and package."""
OUR_MODULES = ("hopwise/", "../")
"""How the names of this project's own Go modules begin; one that stands in for another has its folder as its name."""


def describe() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Writes the contents of the environment and of the images' Go programs into `.tools/sbom`.

    Returns:
        The components, by the name of what has them.

    Raises:
        SetupError: Something cannot be described.
    """
    for name, (module, package) in GO_PROGRAMS.items():
        golang.fetch(name, module, package)  # the licences are in the modules
    sources = {"python": f"dir:{VENV}"} | {name: f"file:{(BIN / name).resolve()}" for name in GO_PROGRAMS}
    return {name: components(name, source) for name, source in sources.items()}


def components(name: str, source: str, folder: Path = SBOM) -> Sequence[Mapping[str, Any]]:
    """Writes the contents of one source as `NAME.cdx.json`, and returns its components.

    Args:
        name: Name of the document.
        source: What syft looks at, such as `dir:/path`.
        folder: Where the document goes.

    Raises:
        SetupError: syft failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.cdx.json"
    argv = [str(VENV / "bin" / "syft"), "scan", "--quiet", source, "--output", f"cyclonedx-json={file}"]
    done = ask(argv, variables=SYFT)
    if done.returncode != 0:
        raise SetupError(f"The contents of {name} cannot be listed: {cause(done)}")
    return [each for each in json.loads(file.read_text()).get("components", ()) if "purl" in each]


def licences(described: Mapping[str, Sequence[Mapping[str, Any]]], shipped: Mapping[str, str] | None = None) -> Check:
    """Holds the licences of what is shipped against those that are allowed.

    Args:
        described: The components, by the name of what has them.
        shipped: Versions of the Python packages that are shipped; those of `images/*.lock` by default.
    """
    pins = _pins() if shipped is None else shipped
    rules = table()["licences"]
    found: list[Finding] = []
    seen: set[tuple[str, str]] = set()
    for part, name, version, stated in _shipped(described, pins):
        words = {word for each in stated for word in re.findall(r"[\w.+-]+", rules["spelled"].get(each, each))}
        refused = words - {"AND", "OR", "WITH"} - set(rules["allowed"])
        if (name, version) not in seen and (refused or not words):
            text = "; ".join(each.splitlines()[0][:80] for each in stated) or "none is stated"
            found.append(Finding(f"{name} {version}", text, f"part of {part}", rules["exceptions"].get(name, "")))
        seen.add((name, version))
    missing = sorted(f"{name} {version}: it is not installed" for name, version in pins.items() - seen)
    return Check("licences of what is shipped", f"{len(seen)} packages", found, missing)


def _shipped(
    described: Mapping[str, Sequence[Mapping[str, Any]]], pins: Mapping[str, str]
) -> Iterator[tuple[str, str, str, Sequence[str]]]:
    """What each is part of, its name and version, and its licences as they are stated."""
    for part, each_component in described.items():
        for each in each_component:
            name, version = each["name"], each.get("version", "")
            if part == "python" and pins.get(_canonical(name)) == version:
                yield part, _canonical(name), version, _stated(each)
            elif part != "python" and not name.startswith(OUR_MODULES):
                yield part, name, version, _stated(each)
    for package in graphiql.PACKAGES:
        yield "graphiql", package.name, package.version, [package.licence]


def _stated(component: Mapping[str, Any]) -> Sequence[str]:
    return [
        each.get("expression") or each["license"].get("id") or each["license"].get("name", "")
        for each in component.get("licenses", ())
    ]


def _pins() -> Mapping[str, str]:
    locks = [ROOT / "images" / f"{image}.lock" for image in IMAGES if image != "build"]
    pattern = re.compile(r"^([\w.-]+)(?:\[\S+\])?==(\S+)", re.MULTILINE)
    return {_canonical(name): version for lock in locks for name, version in pattern.findall(lock.read_text())}


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
