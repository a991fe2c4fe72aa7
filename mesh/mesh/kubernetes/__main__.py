"""`python -m mesh.kubernetes` runs a linter, and Istio's own tools, over the manifests of every topology."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from mesh.description.switches import Switches
from mesh.description.topology import load_topology, names
from mesh.errors import MeshError, StartError
from mesh.istio.validation import require_consistent
from mesh.kubernetes.cluster.preflight import MIN_VERSION
from mesh.kubernetes.manifests.bundle import BENCH, PRODUCTION, documents, manifests
from mesh.kubernetes.manifests.deployment import Document
from mesh.kubernetes.manifests.files import as_yaml
from mesh.kubernetes.options import ClusterOptions
from mesh.paths import ROOT

LINTER = ROOT / ".tools" / "bin" / "kube-score"
LIMIT_S = 60.0
IGNORED = {
    "container-image-pull-policy": "tags of the project's images identify their content",
    "deployment-has-host-podantiaffinity": "topology spread constraints do this without keeping a pod from starting",
    "deployment-targeted-by-hpa-does-not-have-replicas-configured": "Kustomize removes them",
    "networkpolicy-targets-pod": "pods of a load and of Istio's gateway are created elsewhere",
    "deployment-replicas": "a bench has the requested replicas; in production, autoscalers set the number",
    "pod-probes-identical": "readiness and liveness use the same check, with different thresholds",
}
SYSTEMS = (
    Switches(runtime="kubernetes"),
    Switches(runtime="kubernetes", mesh="istio", mtls="on", canary=10),
    Switches(runtime="kubernetes", edge="kong", mesh="istio", mtls="on"),
)


def lint(resources: list[Document], what: str) -> None:
    """Runs kube-score on resources.

    Raises:
        StartError: kube-score reports problems; the message lists them.
    """
    argv = [str(LINTER), "score", "--output-format=ci", f"--kubernetes-version=v{'.'.join(map(str, MIN_VERSION))}"]
    argv += ["--enable-optional-test=container-seccomp-profile", f"--ignore-test={','.join(IGNORED)}", "-"]
    text = as_yaml(resources)
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False, timeout=LIMIT_S)  # noqa: S603
    wrong = [line for line in done.stdout.splitlines() if line.startswith(("[CRITICAL]", "[WARNING]"))]
    if wrong or done.returncode not in (0, 1):
        raise StartError("\n".join([f"{what}: kube-score refuses resources:", *(wrong or [done.stderr.strip()])]))


def variants() -> Iterator[tuple[str, list[Document]]]:
    """The resources of both overlays of every topology, without and with Istio, behind either edge."""
    options = ClusterOptions(tag="lint")
    for name, switches in product(names(), SYSTEMS):
        topology = load_topology(name)
        if switches.edge == "kong" and topology.needs_envoy:
            continue
        files = manifests(topology, switches, options)
        for overlay in (BENCH, PRODUCTION):
            what = f"topology={name} edge={switches.edge} mesh={switches.mesh}, {overlay}"
            yield what, documents(files, overlay)


def main() -> int:
    """Checks all variants; returns the exit code."""
    istioctl = ROOT / ".tools" / "bin" / "istioctl"
    tools = {"kube-score": (LINTER, "make kube-score"), "Istio's own checks": (istioctl, "make istio")}
    for title, (program, how) in tools.items():
        if not program.is_file():
            print(f"Skipped {title} for the manifests: the program is not built ({how}).")
    count = 0
    try:
        with tempfile.TemporaryDirectory() as folder:
            for what, resources in variants():
                if LINTER.is_file():
                    lint(resources, what)
                if istioctl.is_file() and "mesh=istio" in what:
                    file = Path(folder) / "all.yaml"
                    file.write_text(as_yaml(resources))
                    require_consistent((), file, what)
                count += 1
    except MeshError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"Checked {count} sets of manifests.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
