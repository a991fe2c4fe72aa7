"""A system's cluster options, in addition to its topology and switches."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import urlsplit

from mesh.errors import SwitchError
from mesh.kubernetes.places import ClusterPlaces
from provision.images import PREFIX, tag

KONG_IMAGE = "docker.io/library/kong:3.9"
_DNS_NAME = r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+"


@dataclass(frozen=True)
class ClusterOptions:
    """Where in a cluster a system runs, and with which images.

    Attributes:
        tag: Tag of the project's images; never `latest`, whose content is not fixed.
        images: Prefix of the names of the project's images.
        replicas: Pods of each component; 1 for components that are not named.
        database_url: The administrator's URL of a managed PostgreSQL server; None for the bench's own server.
        storage: Size of PostgreSQL's volume, such as `10Gi`; None for a volume that is deleted with its pod.
        istio_cni: Whether the cluster's nodes redirect traffic to sidecars (Istio's CNI plugin), so that pods need no
            privilege for it.
        run: Id of the run that the system belongs to, for the label `hopwise/run`; empty for none.
        trial: Name of the trial; every span carries it.
        jwt_public_key: The key, in PEM form, that checks the shop's tokens; only the edge's plugins need it.
        collector: Host of a collector that spans are sent to over OTLP; None for the system's own Jaeger.
        host: Name by which clients reach the shop over TLS, in production; None for access without TLS.
        sampling: Percentage of requests that are traced in production.

    Raises:
        SwitchError: Kubernetes would refuse a value; the message has a valid value.
    """

    tag: str
    namespace: str = "hopwise"
    images: str = PREFIX
    kong_image: str = KONG_IMAGE
    pull_policy: str = "IfNotPresent"
    replicas: Mapping[str, int] = field(default_factory=dict)
    database_url: str | None = field(default=None, repr=False)
    storage: str | None = None
    istio_cni: bool = False
    run: str = ""
    trial: str = ""
    jwt_public_key: str = ""
    seed: int = 1
    collector: str | None = None
    host: str | None = None
    sampling: float = 1.0

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", self.namespace):
            raise SwitchError(
                f"namespace={self.namespace} is not valid; use up to 63 lower-case letters, digits and hyphens, such "
                "as my-shop."
            )
        if self.storage is not None and not re.fullmatch(r"[1-9][0-9]*(Mi|Gi|Ti)", self.storage):
            raise SwitchError(
                f"storage={self.storage} is not valid; give a size with a unit of Mi, Gi or Ti, such as 10Gi."
            )
        for name, given, example in (
            ("collector", self.collector, "otel-collector.observability.svc.cluster.local"),
            ("host", self.host, "shop.example.com"),
        ):
            if given is not None and not re.fullmatch(_DNS_NAME, given):
                raise SwitchError(
                    f"{name}={given} is not valid; give a full host name in lower case, such as {example}."
                )

    @cached_property
    def places(self) -> ClusterPlaces:
        """Where everything listens and is reached."""
        return ClusterPlaces(self.collector)

    @property
    def managed_port(self) -> int:
        """Port of a managed PostgreSQL server."""
        return (urlsplit(self.database_url).port if self.database_url else None) or 5432

    def image(self, name: str) -> str:
        """The full name of one of the project's images."""
        return f"{self.images}/{name}:{self.tag}"


def cluster_options(environ: Mapping[str, str]) -> ClusterOptions:
    """The options that a user's environment gives: `IMAGE_PREFIX`, `IMAGE_TAG`, `KONG_IMAGE` and `DATABASE_URL`."""
    return ClusterOptions(
        tag=tag(environ),
        images=environ.get("IMAGE_PREFIX") or PREFIX,
        kong_image=environ.get("KONG_IMAGE") or KONG_IMAGE,
        database_url=environ.get("DATABASE_URL") or None,
    )
