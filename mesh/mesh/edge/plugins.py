"""Usual functions of production gateways in addition to routing, for Kong and for Envoy."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mesh.edge import limits
from mesh.edge.plan import STDOUT, EdgePlan
from mesh.envoy_config import TYPES, http_filter

REQUEST_ID = "x-request-id"
REQUESTS_PER_S = 100_000
"""The rate limit of each client; no run on one machine reaches it."""
ISSUER = "hopwise"
"""Issuer of the shop's tokens."""
ANONYMOUS = "anonymous"
PLUGIN_LOG = "edge.plugin.log"
"""The access log that the plugin set `all` writes to a file, in addition to the edge's own access log."""
LINE = (
    '[%START_TIME%] "%REQ(:METHOD)% %PATH(NQ)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% %BYTES_RECEIVED% '
    '%BYTES_SENT% %DURATION% "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%"\n'
)
"""Envoy's line in the file `PLUGIN_LOG`: the default fields, without the query."""


@dataclass(frozen=True)
class Plugin:
    """A function of a gateway in addition to routing.

    Attributes:
        kong: Kong's plugin.
        envoy_filter: Envoy's HTTP filter; None if Envoy needs no filter.
        envoy_manager: Changes to Envoy's connection manager.
        envoy_log: Envoy's access logger, in addition to the edge's own; None if there is no other logger.
    """

    kong: Mapping[str, Any]
    envoy_filter: Mapping[str, Any] | None = None
    envoy_manager: Mapping[str, Any] = field(default_factory=dict)
    envoy_log: Mapping[str, Any] | None = None


_ALWAYS = {"default_value": {"numerator": 100, "denominator": "HUNDRED"}}
_RATE_LIMIT = Plugin(
    kong={"name": "rate-limiting", "config": {"second": REQUESTS_PER_S, "policy": "local", "limit_by": "ip"}},
    envoy_filter=http_filter(
        "local_ratelimit",
        "LocalRateLimit",
        stat_prefix="rate_limit",
        token_bucket={"max_tokens": REQUESTS_PER_S, "tokens_per_fill": REQUESTS_PER_S, "fill_interval": "1s"},
        filter_enabled=_ALWAYS,
        filter_enforced=_ALWAYS,
    ),
)
_CORRELATION_ID = Plugin(
    kong={
        "name": "correlation-id",
        "config": {"header_name": REQUEST_ID, "generator": "uuid", "echo_downstream": True},
    },
    # Envoy gives every request an id anyway; this also sends it to the client.
    envoy_manager={"always_set_request_id_in_response": True},
)
# Envoy's buffer filter has this limit in every set of plugins; so does Kong's nginx.
_SIZE = {"allowed_payload_size": limits.MAX_BODY, "size_unit": "bytes"}
_SIZE_LIMIT = Plugin(kong={"name": "request-size-limiting", "config": _SIZE})
# Envoy always counts, and shows its counters at its admin address.
_COUNTED = dict.fromkeys(("status_code_metrics", "latency_metrics", "bandwidth_metrics"), True)
_METRICS = Plugin(kong={"name": "prometheus", "config": _COUNTED})


def plugins_of(plan: EdgePlan) -> Sequence[Plugin]:
    """The plugins in the set that a plan names."""
    if plan.plugins == "none":
        return []
    typical = [_RATE_LIMIT, _CORRELATION_ID, _SIZE_LIMIT, _jwt(plan.jwt_public_key)]
    return typical if plan.plugins == "typical" else [*typical, _METRICS, _file_log(plan)]


def consumers(plan: EdgePlan) -> list[dict[str, Any]]:
    """The consumers for Kong's token check: the shop as the tokens' issuer, and an anonymous consumer."""
    if plan.plugins == "none":
        return []
    key = {"key": ISSUER, "algorithm": "EdDSA", "rsa_public_key": plan.jwt_public_key}
    return [{"username": "shop", "jwt_secrets": [key]}, {"username": ANONYMOUS}]


def _jwt(public_pem: str) -> Plugin:
    # A request without a valid token passes: services decide which calls need one, and refuse with their own message.
    provider = {"issuer": ISSUER, "local_jwks": {"inline_string": _key_set(public_pem)}, "forward": True}
    either = [{"provider_name": "shop"}, {"allow_missing_or_failed": {}}]
    rule = {"match": {"prefix": "/"}, "requires": {"requires_any": {"requirements": either}}}
    return Plugin(
        kong={"name": "jwt", "config": {"anonymous": ANONYMOUS, "uri_param_names": [], "claims_to_verify": ["exp"]}},
        envoy_filter=http_filter("jwt_authn", "JwtAuthentication", providers={"shop": provider}, rules=[rule]),
    )


def _file_log(plan: EdgePlan) -> Plugin:
    path = str(STDOUT if plan.access_log == STDOUT else plan.access_log.with_name(PLUGIN_LOG))
    # The log leaves out the query and cookies, which may contain personal data. Kong itself leaves out `authorization`.
    hidden = {f"request.{name}": "return nil" for name in ("uri", "url", "querystring", "headers.cookie")}
    log_type = f"{TYPES}/envoy.extensions.access_loggers.file.v3.FileAccessLog"
    line = {"text_format_source": {"inline_string": LINE}}
    return Plugin(
        kong={"name": "file-log", "config": {"path": path, "custom_fields_by_lua": hidden}},
        envoy_log={
            "name": "envoy.access_loggers.file",
            "typed_config": {"@type": log_type, "path": path, "log_format": line},
        },
    )


def _key_set(public_pem: str) -> str:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    key = load_pem_public_key(public_pem.encode())
    if not isinstance(key, Ed25519PublicKey):
        raise TypeError("the shop's tokens are signed with an Ed25519 key")
    x = urlsafe_b64encode(key.public_bytes_raw()).decode().rstrip("=")
    return json.dumps({"keys": [{"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "x": x}]})
