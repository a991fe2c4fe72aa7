"""The tokens that authenticate sidecars to istiod, like Kubernetes' service account tokens."""

from __future__ import annotations

import json
import time
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from mesh.paths import RunFolder, write_private
from mesh.sidecars.workloads import NAMESPACE, Workload

ISSUER, AUDIENCE = "hopwise", "istio-ca"
LIFETIME_S = 24 * 3600.0
RENEWED_AFTER_S = 3600.0
"""Age in seconds at which tokens are renewed, long before they expire: an agent reads its token for each
certificate."""


def is_due(token: Path) -> bool:
    """Whether a token should be renewed."""
    return time.time() - token.stat().st_mtime > RENEWED_AFTER_S


class TokenIssuer:
    """Signs the tokens of a run; the signing key is among the run's keys, and stays there."""

    def __init__(self, folder: RunFolder) -> None:
        file = folder.keys / "istio-token-key.pem"
        self._jwks = folder.keys / "istio-jwks.json"
        if not file.is_file():
            new = generate_private_key(public_exponent=65537, key_size=2048)
            write_private(file, new.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        key = load_pem_private_key(file.read_bytes(), None)
        assert isinstance(key, RSAPrivateKey)
        self._key = key
        public = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
        self._jwks.write_text(json.dumps({"keys": [{**public, "use": "sig", "alg": "RS256"}]}))

    @property
    def rule(self) -> str:
        """The tokens that istiod accepts, in the format of its setting `JWT_RULE`."""
        return json.dumps({"issuer": ISSUER, "jwks_uri": self._jwks.as_uri(), "audiences": [AUDIENCE]})

    def issue(self, service: str, lifetime_s: float = LIFETIME_S) -> str:
        """Signs a token for the holder of a service account."""
        now, subject = time.time(), f"system:serviceaccount:{NAMESPACE}:{service}"
        claims = {"iss": ISSUER, "aud": [AUDIENCE], "sub": subject, "iat": int(now), "exp": int(now + lifetime_s)}
        return jwt.encode(claims, self._key, algorithm="RS256")

    def write(self, workload: Workload, file: Path) -> None:
        """Writes a new token for a workload over the old token."""
        file.parent.mkdir(parents=True, exist_ok=True)
        write_private(file, self.issue(workload.service).encode())
