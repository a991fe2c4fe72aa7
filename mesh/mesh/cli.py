"""The command line: `python -m mesh up|down|clean|status|manifests|compose|topologies`."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mesh.components.postgres_owner import remove_cluster
from mesh.components.shop_processes import Data
from mesh.components.trial import as_it_runs, require_fit
from mesh.compose import FILE as COMPOSE_FILE
from mesh.compose import compose_files
from mesh.description.options import Given, Json, takes_settings
from mesh.description.ports import load_ports
from mesh.description.switches import aborts_in_words, delays_in_words, parse_switches
from mesh.description.topology import load_topology, names
from mesh.errors import InputError, SwitchError
from mesh.kubernetes.manifests.bundle import BENCH, PRODUCTION
from mesh.kubernetes.manifests.bundle import manifests as cluster_manifests
from mesh.kubernetes.manifests.files import make_secrets, write
from mesh.kubernetes.options import cluster_options
from mesh.native.system import System
from mesh.paths import ROOT, RUNS, RunFolder, jaeger, jaeger_has_pages, jaeger_pages, prometheus
from mesh.supervisor.detached import start_detached
from mesh.supervisor.reporting import reported
from mesh.supervisor.restarts import Restarts
from mesh.supervisor.running_state import State, component_table, read_state, stop_run, write_state

app = typer.Typer(
    help="Starts a topology of the shop on this machine, and stops it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
WATCH_S = 0.5


@app.command()
@takes_settings("up")
def up(
    *,
    topology: str,
    switches: Given,
    seed: Annotated[int, typer.Option(min=0)],
    detach: Annotated[
        bool, typer.Option("--detach", help="Leave the topology running and return once it is ready.")
    ] = False,
    monitor: str,
    as_json: Json = False,
) -> None:
    """Start a topology and keep it running until Ctrl-C."""
    with reported():
        switches = with_monitor(switches, monitor)
        given = parse_switches(**switches)
        loaded = load_topology(topology, updates=given.updates)
        chosen = as_it_runs(loaded, given)
        require_fit(loaded, chosen)
        ports = load_ports(os.environ)
        folder = RunFolder.of(ports.base)
        if detach:
            options = ["--topology", topology, "--seed", str(seed), "--monitor", monitor]
            options += [f"--{name}={value}" for name, value in switches.items() if value is not None]
            show(start_detached(options, folder), as_json, how_to_stop="make down")
            return
        trial = f"up-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
        data = Data(chosen.scale, seed)
        system = System(loaded, chosen, ports, trial, data=data, monitor=monitor == "on", interactive=True)
        with system:
            state = State(
                topology=loaded.name,
                switches=chosen.as_dict(),
                urls=system.urls,
                commands=system.commands,
                edge=system.url,
                logs=str(system.logs),
                since=time.time(),
                ca_certificate=str(system.ca_certificate or ""),
                additions=system.additions,
            )
            write_state(folder, state)
            restarts = Restarts(system, say=lambda what: print(what, file=sys.stderr, flush=True))
            try:
                show(state, as_json, how_to_stop="Ctrl-C")
                while True:
                    if restarts.look():
                        write_state(folder, replace(state, restarts=dict(restarts.counts)))
                    time.sleep(WATCH_S)
            finally:
                folder.state.unlink(missing_ok=True)


def with_monitor(switches: Given, monitor: str) -> Given:
    """Returns the switches of a topology, with metrics if it is monitored.

    Raises:
        SwitchError: `monitor` is neither on nor off, or it is on with `metrics=off`.
        NotInstalledError: `monitor` is on, and there is no Prometheus.
    """
    if monitor not in ("off", "on"):
        raise SwitchError(f"monitor={monitor} is unknown; valid: off, on.")
    if monitor == "off":
        return switches
    if switches["metrics"] == "off":
        raise SwitchError("monitor=on with metrics=off: Prometheus would find no metrics; leave out metrics=off.")
    prometheus(os.environ)
    return {**switches, "metrics": "on"}


@app.command()
def down() -> None:
    """Stop the topology that runs on this port base."""
    with reported():
        ports = load_ports(os.environ)
        stopped = stop_run(RunFolder.of(ports.base))
        typer.echo(f"Stopped {', '.join(stopped)}." if stopped else f"Nothing is running on port base {ports.base}.")


@app.command()
def clean() -> None:
    """Stop everything this checkout runs, and delete its runs' working data."""
    with reported():
        for folder in RunFolder.all():
            stop_run(folder)
            notes = folder.cluster_notes
            for note in notes:
                # Imported here, because only runs in a cluster leave a note.
                from mesh.kubernetes.cluster.system import remove_leftover

                remove_leftover(note, os.environ)
            remove_cluster(folder)
            folder.remove_sockets()
            # The next run, or the next `clean`, needs a note that is left.
            for path in folder.path.iterdir():
                if path not in notes:
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            if not folder.cluster_notes:
                folder.path.rmdir()


@app.command()
def status(as_json: Json = False) -> None:
    """Show the components that run on this port base."""
    with reported():
        ports = load_ports(os.environ)
        folder = RunFolder.of(ports.base)
        state, components = read_state(folder), component_table(folder)
        if as_json:
            typer.echo(json.dumps({"state": None if state is None else asdict(state), "components": components}))
            return
        if not components:
            typer.echo(f"Nothing is running on port base {ports.base}.")
            return
        title = "not ready" if state is None else state.topology
        title += "".join(f", {fault}: {words}" for fault, words in ({} if state is None else _faults(state)).items())
        table = Table("component", "pid", "runs", "RSS MB", "restarts", title=title)
        for row in components:
            runs = "yes" if row["running"] else "no"
            table.add_row(str(row["component"]), str(row["pid"]), runs, f"{row['rss_mb']:.0f}", str(row["restarts"]))
        # Otherwise, Rich would read brackets in a name as markup.
        Console(markup=False, emoji=False, highlight=False).print(table)


@app.command()
@takes_settings("manifests")
def manifests(
    *,
    topology: str,
    switches: Given,
    namespace: str,
    storage: str | None,
    cni: Annotated[
        bool, typer.Option("--cni", help="Istio's CNI plugin redirects traffic, so that no pod needs a privilege.")
    ] = False,
    host: str | None,
    collector: str | None,
    sampling: Annotated[float, typer.Option(min=0, max=100)],
    seed: Annotated[int, typer.Option(min=0)],
    out: Path | None,
) -> None:
    """Write the Kubernetes manifests of a topology: a Kustomize base, and the overlays bench and production."""
    with reported():
        chosen = parse_switches(**switches, runtime="kubernetes")
        loaded = load_topology(topology, updates=chosen.updates)
        require_fit(loaded, chosen)
        options = replace(
            cluster_options(os.environ),
            namespace=namespace,
            storage=storage,
            host=host,
            collector=collector,
            sampling=sampling,
            istio_cni=cni,
            seed=seed,
            replicas=chosen.replicas,
        )
        folder = out or ROOT / RUNS / "manifests" / f"{loaded.name}-{chosen.edge}-{chosen.mesh}"
        public_key = make_secrets(folder, options).public.read_text()
        write(cluster_manifests(loaded, chosen, replace(options, jwt_public_key=public_key)), folder)
        typer.echo(f"Wrote {folder}. Apply it with: kubectl apply --kustomize {folder / BENCH}")
        typer.echo(f"In production, apply {folder / PRODUCTION} with your own secrets (docs/system/production.md).")


@app.command()
@takes_settings("compose")
def compose(
    *,
    topology: str,
    switches: Given,
    seed: Annotated[int, typer.Option(min=0)],
    out: Path | None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail if the files are out of date.")] = False,
) -> None:
    """Write the Compose file of a topology, and the configuration that its containers mount."""
    with reported():
        chosen = parse_switches(**switches)
        loaded = load_topology(topology, updates=chosen.updates)
        require_fit(loaded, chosen)
        is_committed = (topology, chosen.scale, seed, chosen.updates, chosen.metrics) == ("hybrid", 1, 1, "off", "off")
        folder = out or (ROOT if is_committed else ROOT / RUNS / "compose" / loaded.name)
        files = compose_files(loaded, Data(chosen.scale, seed), folder.resolve(), metrics=chosen.metrics == "on")
        if check:
            made = {path: (folder / path).read_text() if (folder / path).is_file() else None for path in files}
            if stale := [str(path) for path, text in files.items() if made[path] != text]:
                raise InputError(f"These files are out of date: {', '.join(stale)}. Run `make compose`.")
            return
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        file = folder / COMPOSE_FILE
        typer.echo(f"Wrote {file}. Start it with: docker compose --file {file} up --build (or podman-compose)")


@app.command()
def topologies(as_json: Json = False) -> None:
    """List the topologies that come with the project."""
    with reported():
        about = {name: load_topology(name).about for name in names()}
        typer.echo(json.dumps(about) if as_json else "\n".join(f"{name:17} {about[name]}" for name in about))


def show(state: State, as_json: bool, how_to_stop: str) -> None:
    """Prints the addresses of a run that is ready, and how to stop it."""
    if as_json:
        typer.echo(json.dumps(asdict(state)))
        return
    typer.echo(f"{state.topology} is ready at {state.edge}")
    lines = dict(state.urls)
    if "Jaeger" in lines and not (jaeger_pages(os.environ) or jaeger_has_pages(jaeger(os.environ), os.environ)):
        lines["Jaeger"] += "\n(the last traces; `make JAEGER=release setup` also installs Jaeger's UI)"
    lines |= {"CA certificate": state.ca_certificate} if state.ca_certificate else {}
    lines |= {switch: "\n".join(added) for switch, added in state.additions.items()}
    lines |= {**state.commands, "Logs": state.logs, **_faults(state)}
    width = max(map(len, lines))
    for title, text in lines.items():
        for number, line in enumerate(text.splitlines()):
            typer.echo(f"  {'' if number else title:{width}}  {line}")
    typer.echo(f"Stop it with {how_to_stop}.")


def _faults(state: State) -> dict[str, str]:
    """Describes in words the faults that are injected into the running topology, by kind."""
    faults = {
        "DELAYED": delays_in_words(state.switches["delay_ms"]),
        "ABORTED": aborts_in_words(state.switches["abort_share"]),
    }
    return {fault: words for fault, words in faults.items() if words}
