"""Istio's validation of resources, reported in terms of the topology."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mesh.errors import StartError, TopologyError
from mesh.istio.resource import Resource
from mesh.paths import istio_program

LIMIT_S = 60.0
_INVALID = re.compile(r"\* (\w+)/([\w-]+)/([\w-]+): (.+)")
_TO_BE_EXPECTED = "IST0133"  # an EnvoyFilter depends on Envoy's own configuration, which is intended


def require_valid(resources: Sequence[Resource], file: Path, what: str) -> None:
    """Checks resources one by one, as a cluster does before it accepts them; `what` names the file in messages.

    Raises:
        TopologyError: Istio refuses resources; the message names the links or components that they were made for.
        NotInstalledError: There is no istioctl.
    """
    done = _istioctl("validate", "-f", str(file))
    if done.returncode == 0:
        return
    # istioctl prints warnings on its standard output.
    problems = [_describe(resources, *problem) for problem in _INVALID.findall(done.stderr)]
    if not problems:
        raise StartError(f"istioctl cannot validate {file}:\n{done.stderr.strip()}")
    raise _refusal(what, problems)


def require_consistent(resources: Sequence[Resource], file: Path, what: str) -> None:
    """Checks that a file's resources fit together: references lead to existing resources, and nothing contradicts.

    Raises:
        TopologyError: They do not fit; the message names the links or components that `resources` were made for, and
            other resources of the file by their own names.
        NotInstalledError: There is no istioctl.
    """
    problems = []
    for message in _analyze(file):
        kind, _, path = message["origin"].partition(" ")
        namespace, _, name = path.rpartition("/")
        problems.append(_describe(resources, kind, namespace, name, f"{message['code']}: {message['message']}"))
    if problems:
        raise _refusal(what, problems)


def _analyze(file: Path) -> list[dict[str, Any]]:
    done = _istioctl("analyze", "--use-kube=false", "-o", "json", str(file))
    try:
        messages = json.loads(done.stdout)
    except ValueError as error:
        raise StartError(f"istioctl cannot analyze {file}:\n{done.stdout}{done.stderr}") from error
    return [message for message in messages if message["code"] != _TO_BE_EXPECTED]


def _istioctl(*arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [str(istio_program("istioctl")), *arguments]
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=LIMIT_S)  # noqa: S603 - our own
    except subprocess.TimeoutExpired as error:
        raise StartError(f"istioctl did not answer within {LIMIT_S:g} s: {' '.join(arguments)}") from error


def _describe(resources: Sequence[Resource], kind: str, namespace: str, name: str, problem: str) -> str:
    """Describes a problem with a resource by the link or component that the resource was made for."""
    known = {(one.kind, one.namespace, one.name): one.made_for for one in resources}
    return f"{known.get((kind, namespace, name), f'{namespace}/{name}')}: {kind}: {problem}"


def _refusal(what: str, problems: Sequence[str]) -> TopologyError:
    listed = (f"  {problem}" for problem in dict.fromkeys(problems))
    return TopologyError("\n".join([f"{what}: Istio refuses its resources:", *listed]))
