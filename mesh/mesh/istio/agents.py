"""pilot-agent: starts a workload's Envoy, and gets its certificates and its configuration from istiod."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
from functools import partial
from pathlib import Path
from typing import Any

from mesh.description.ports import Ports
from mesh.envoy_config import base_config, pipe_address, show_metrics
from mesh.istio.control_plane import CLUSTER, ISTIOD
from mesh.istio.proxy_patches import SPAN_EXPORT
from mesh.istio.resource import ROOT_NAMESPACE
from mesh.istio.services import labels
from mesh.istio.tokens import TokenIssuer
from mesh.paths import RunFolder, envoy, istio_program
from mesh.sidecars.certificates import Authority
from mesh.sidecars.envoy import BASE_FILE
from mesh.sidecars.stats import admin_page
from mesh.sidecars.workloads import NAMESPACE, TRUST_DOMAIN, Workload
from mesh.supervisor.processes import Component, guard
from mesh.supervisor.readiness import TIMEOUT_S, Check

DNS_DOMAIN = f"{NAMESPACE}.svc.{TRUST_DOMAIN}"
NO_ADMIN_PORT = 1
"""The agent requires a port for Envoy's admin pages. Before the agent stops Envoy, it sends a drain request to this
port, and continues if there is no answer. Nothing listens at this port, so the request reaches no other Envoy."""
STATS_CONFIG = {
    "use_all_default_tags": False,
    "stats_tags": [
        {"tag_name": "envoy.cluster_name", "regex": r"^cluster(\.(.+);)"},
        {"tag_name": "envoy.http_conn_manager_prefix", "regex": r"^http(\.(.+);)"},
        {"tag_name": "envoy.response_code_class"},
    ],
}
"""How Envoy extracts names from statistics: istiod ends each name with a semicolon, because names contain dots."""
# The agent's sockets, secrets and settings are at fixed paths below its working directory.
XDS_SOCKET = Path("etc/istio/proxy/XDS")
SDS_SOCKET = Path("var/run/secrets/workload-spiffe-uds/socket")
TOKEN = Path("var/run/secrets/tokens/istio-token")
TRUSTED = Path("var/run/secrets/istio/root-cert.pem")
ANNOTATIONS = Path("etc/istio/pod/annotations")


def agent_component(
    workload: Workload, ports: Ports, folder: RunFolder, authority: Authority, issuer: TokenIssuer, *, metrics: bool
) -> Component:
    """The component of a workload's sidecar; makes the agent's folder.

    Raises:
        NotInstalledError: There is no agent or no Envoy program.
    """
    program = istio_program("pilot-agent")
    home = agent_folder(workload, folder)
    shutil.rmtree(home, ignore_errors=True)
    for path in (XDS_SOCKET, SDS_SOCKET, TOKEN, TRUSTED, ANNOTATIONS):
        (home / path).parent.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    issuer.write(workload, home / TOKEN)
    shutil.copy(authority.root_cert, home / TRUSTED)
    # The port of the agent's status page, which other machines could reach; 0 turns it off.
    (home / ANNOTATIONS).write_text('status.sidecar.istio.io/port="0"\n')
    bootstrap = _bootstrap(workload)
    if metrics:
        show_metrics(bootstrap, workload.metrics)
        bootstrap["stats_config"] = STATS_CONFIG
    (home / "bootstrap.json").write_text(json.dumps(bootstrap))
    # The agent takes a program's path without options, hence this script. Envoy must not outlive the agent, even if the
    # agent is killed.
    starter = home / "envoy"
    starter.write_text(f'#!/bin/sh\nexec {shlex.join(guard([str(envoy())], signal.SIGKILL))} "$@"\n')
    starter.chmod(0o700)
    proxy_config = {
        "discoveryAddress": ports.address("istiod-xds"),
        "binaryPath": str(starter),
        "customConfigFile": "bootstrap.json",
        # One worker thread, as the edge has.
        "concurrency": 1,
        "proxyAdminPort": NO_ADMIN_PORT,
        "terminationDrainDuration": "0.1s",
    }
    env = {
        "INSTANCE_IP": workload.address,
        "POD_NAME": workload.name,
        "POD_NAMESPACE": NAMESPACE,
        "SERVICE_ACCOUNT": workload.service,
        "TRUST_DOMAIN": TRUST_DOMAIN,
        "ISTIO_META_CLUSTER_ID": CLUSTER,
        "ISTIO_META_DNS_CAPTURE": "false",
        # This is the name in istiod's certificate, which has no addresses.
        "ISTIOD_SAN": f"{ISTIOD}.{ROOT_NAMESPACE}.svc",
        "PILOT_CERT_PROVIDER": "istiod",
        "ECC_SIGNATURE_ALGORITHM": "ECDSA",
        "GRPC_XDS_BOOTSTRAP": "",
        # Otherwise the agent queries the metadata services of clouds for its location.
        "CLOUD_PLATFORM": "none",
        "PROXY_CONFIG": json.dumps(proxy_config),
    }
    argv = [str(program), "proxy", "sidecar", "--domain", DNS_DOMAIN, "--log_output_level=default:warn"]
    return Component(
        workload.sidecar,
        argv=lambda: ["/bin/sh", "-c", 'cd "$0" && exec "$@"', str(home), *argv],
        env=env,
        ready=_check_configuration(workload),
        after=frozenset({ISTIOD}),
        stop_rank=3,
        replica_of=workload.sidecar_component if workload.replica > 1 else "",
    )


def agent_folder(workload: Workload, folder: RunFolder) -> Path:
    """The working directory of a workload's agent."""
    return folder.path / "istio" / workload.name


def token_file(workload: Workload, folder: RunFolder) -> Path:
    """The file of a workload's token."""
    return agent_folder(workload, folder) / TOKEN


def _bootstrap(workload: Workload) -> dict[str, Any]:
    metadata = {
        "NAME": workload.name,
        "NAMESPACE": NAMESPACE,
        "SERVICE_ACCOUNT": workload.service,
        "WORKLOAD_NAME": workload.name,
        "LABELS": labels(workload),
        "CLUSTER_ID": CLUSTER,
        "INSTANCE_IPS": workload.address,
        # No iptables: callers dial their sidecar's listeners themselves.
        "INTERCEPTION_MODE": "NONE",
    }
    ads = {"ads": {}, "resource_api_version": "V3", "initial_fetch_timeout": "0s"}
    return {
        "node": {
            "id": f"sidecar~{workload.address}~{workload.name}.{NAMESPACE}~{DNS_DOMAIN}",
            "cluster": f"{workload.service}.{NAMESPACE}",
            "metadata": metadata,
        },
        "admin": {**base_config(BASE_FILE)["admin"], "address": pipe_address(workload.admin)},
        "layered_runtime": {"layers": [{"name": "static", "static_layer": SPAN_EXPORT}]},
        "dynamic_resources": {
            "cds_config": ads,
            "lds_config": ads,
            "ads_config": {
                "api_type": "DELTA_GRPC",
                "transport_api_version": "V3",
                "set_node_on_first_message_only": True,
                "grpc_services": [{"envoy_grpc": {"cluster_name": "xds-grpc"}}],
            },
        },
        "static_resources": {
            "listeners": [],
            "clusters": [_agent_cluster("xds-grpc", XDS_SOCKET), _agent_cluster("sds-grpc", SDS_SOCKET)],
        },
    }


def _agent_cluster(name: str, socket: Path) -> dict[str, Any]:
    endpoint = {"endpoint": {"address": pipe_address(Path(f"./{socket}"))}}
    options = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
    http2 = {"@type": f"type.googleapis.com/{options}", "explicit_http_config": {"http2_protocol_options": {}}}
    return {
        "name": name,
        "type": "STATIC",
        "connect_timeout": "1s",
        "typed_extension_protocol_options": {options: http2},
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]},
    }


def _check_configuration(workload: Workload) -> Check:
    """Checks that Envoy is live, has every listener of the workload, and has refused no update."""
    expected = [f"{workload.address}:{inbound.port}" for inbound in workload.inbound]
    expected += [str(outbound.socket) for outbound in workload.outbound]

    def check() -> bool:
        page = partial(admin_page, workload.admin, limit_s=TIMEOUT_S)
        if page("/ready") is None:
            return False
        listening, refusals = page("/listeners"), page("/stats?filter=update_rejected$")
        if listening is None or refusals is None:
            return False
        refused = [line for line in refusals.splitlines() if not line.endswith(": 0")]
        return not refused and all(address in listening for address in expected)

    return check
