"""Certificate authorities, and the certificates that they issue: to the edge, and, with SPIFFE IDs, to the workloads of
a mesh.

An authority has the files of Istio's plug-in CA. A new authority is made for every run, unless `HOPWISE_MESH_CA` names
a folder with an authority for the mesh.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mesh.description.ports import HOST
from mesh.description.topology import EDGE
from mesh.errors import CertificateError
from mesh.paths import RunFolder
from mesh.sidecars.workloads import TRUST_DOMAIN, Workload

VARIABLE = "HOPWISE_MESH_CA"
ISTIOD_IDENTITY = f"spiffe://{TRUST_DOMAIN}/ns/istio-system/sa/citadel"
ROOT_DAYS, WORKLOAD_DAYS = 3650, 30
"""A workload's certificate outlives every run except a forgotten one; Istio's agent renews its certificates."""
EDGE_NAMES = ("localhost", HOST, EDGE)
"""The host names and addresses by which clients may reach the edge."""
_MARGIN = datetime.timedelta(minutes=5)
"""Certificates become valid this long before they are issued, to tolerate clock differences."""


@dataclass(frozen=True)
class Authority:
    """An authority that signs certificates: a folder with the four files of Istio's plug-in CA."""

    folder: Path

    @property
    def root_cert(self) -> Path:
        """The root certificate, which is trusted."""
        return self.folder / "root-cert.pem"

    @property
    def ca_cert(self) -> Path:
        """The certificate that signs the workloads' certificates."""
        return self.folder / "ca-cert.pem"

    @property
    def ca_key(self) -> Path:
        """The private key of `ca_cert`."""
        return self.folder / "ca-key.pem"

    @property
    def cert_chain(self) -> Path:
        """The certificates from `ca_cert` up to the root, with or without the root."""
        return self.folder / "cert-chain.pem"


@dataclass(frozen=True)
class Certificate:
    """A certificate with its chain, its private key, and the root that its holder trusts: three PEM files."""

    chain: Path
    key: Path
    trusted: Path


def authority(folder: RunFolder, environ: Mapping[str, str]) -> Authority:
    """The authority of a run's mesh: a new one among the run's keys, or the one of `HOPWISE_MESH_CA`, after a check.

    Raises:
        CertificateError: The user's authority cannot be used; the message names the file and the reason.
    """
    named = environ.get(VARIABLE)
    if not named:
        return make_authority(folder.keys / "mesh-ca")
    given = Authority(Path(named).expanduser().absolute())
    _check(given)
    return given


def edge_certificate(folder: RunFolder) -> Certificate:
    """A new certificate for the edge, from a new authority; both are stored with the run's keys.

    As on the web, the edge also sends an intermediate certificate, between its own certificate and the root.
    """
    return issue(make_authority(folder.keys / "edge-ca", EDGE, identity=""), EDGE_NAMES, folder.keys / EDGE)


def make_authority(folder: Path, of: str = "mesh", *, identity: str = ISTIOD_IDENTITY) -> Authority:
    """Makes an authority: a root, and below it the certificate that signs.

    Args:
        folder: Folder for its files; made if it is not there.
        of: Purpose of the authority; part of its certificates' names.
        identity: SPIFFE ID of the certificate that signs; empty for none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    made = Authority(folder)
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root_name, name = _name(f"Hopwise {of} root"), _name(f"Hopwise {of}")
    root = _sign(root_name, root_key.public_key(), root_name, root_key, ROOT_DAYS, ca=True)
    names = [identity] if identity else []
    own = _sign(name, key.public_key(), root_name, root_key, ROOT_DAYS, ca=True, names=names)
    _write(made.root_cert, root.public_bytes(Encoding.PEM))
    _write(made.ca_cert, own.public_bytes(Encoding.PEM))
    _write(made.cert_chain, own.public_bytes(Encoding.PEM))
    _write(made.ca_key, _pem(key))
    return made


def issue(by: Authority, names: Sequence[str], into: Path, *, days: float = WORKLOAD_DAYS) -> Certificate:
    """Issues a certificate to one holder.

    Args:
        names: Names of the holder: SPIFFE IDs, host names and IP addresses.
        into: Folder for its files; made if it is not there.
        days: How many days the certificate is valid, but no longer than the authority's own certificate.
    """
    into.mkdir(parents=True, exist_ok=True)
    into.chmod(0o700)
    signer, signing_key = _load_certificates(by.ca_cert)[0], _load_key(by.ca_key)
    key, latest = ec.generate_private_key(ec.SECP256R1()), signer.not_valid_after_utc
    signed = _sign(None, key.public_key(), signer.subject, signing_key, days, names=names, latest=latest)
    made = Certificate(into / "cert-chain.pem", into / "key.pem", into / "root-cert.pem")
    _write(made.chain, signed.public_bytes(Encoding.PEM) + by.cert_chain.read_bytes())
    _write(made.key, _pem(key))
    _write(made.trusted, by.root_cert.read_bytes())
    return made


def issue_all(by: Authority, workloads: Sequence[Workload], folder: RunFolder) -> dict[str, Certificate]:
    """Issues a certificate to each workload; returns the certificates by the workloads' names."""
    into = folder.keys / "mesh"
    return {workload.name: issue(by, [workload.identity], into / workload.name) for workload in workloads}


def _check(given: Authority) -> None:
    """Checks that an authority can sign for this mesh."""
    for file in (given.root_cert, given.ca_cert, given.cert_chain, given.ca_key):
        if not file.is_file():
            needed = "root-cert.pem, ca-cert.pem, cert-chain.pem and ca-key.pem"
            raise _unusable(file, f"is missing; an authority has {needed}")
    chain = [*_load_certificates(given.ca_cert), *_load_certificates(given.cert_chain)]
    root = _load_certificates(given.root_cert)[0]
    now = datetime.datetime.now(datetime.UTC)
    for certificate, file in [(chain[0], given.ca_cert), (root, given.root_cert)]:
        if certificate.not_valid_after_utc <= now:
            raise _unusable(file, f"expired on {certificate.not_valid_after_utc:%Y-%m-%d}; renew it")
        if certificate.not_valid_before_utc > now:
            raise _unusable(file, f"is not valid before {certificate.not_valid_before_utc:%Y-%m-%d}")
    if _public(_load_key(given.ca_key).public_key()) != _public(chain[0].public_key()):
        raise _unusable(given.ca_key, f"is not the key of {given.ca_cert.name}")
    if not _leads_to(chain, root):
        raise _unusable(given.ca_cert, f"is from another authority: it does not chain to {given.root_cert.name}")


def _leads_to(chain: Sequence[x509.Certificate], root: x509.Certificate) -> bool:
    certificate, rest = chain[0], [*chain[1:], root]
    # Each issuer is used for at most one step, so the walk is no longer than the chain.
    for _ in rest:
        if certificate == root or _issued_by(certificate, root):
            return True
        issuers = (issuer for issuer in rest if issuer != certificate and _issued_by(certificate, issuer))
        certificate = next(issuers, certificate)
    return False


def _issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _load_certificates(file: Path) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(file.read_bytes())
    except (OSError, ValueError) as error:
        raise _unusable(file, f"is not a certificate in PEM form ({error})") from error


def _load_key(file: Path) -> CertificateIssuerPrivateKeyTypes:
    try:
        key = load_pem_private_key(file.read_bytes(), None)
    except (OSError, ValueError, TypeError) as error:
        raise _unusable(file, f"is not an unencrypted private key in PEM form ({error})") from error
    return key  # type: ignore[return-value]  # a key that cannot sign fails the comparison with its certificate


def _unusable(file: Path, problem: str) -> CertificateError:
    return CertificateError(f"{VARIABLE}={file.parent}: {file.name} {problem}.")


def _sign(
    subject: x509.Name | None,
    public_key: ec.EllipticCurvePublicKey,
    issuer: x509.Name,
    key: CertificateIssuerPrivateKeyTypes,
    days: float,
    *,
    ca: bool = False,
    names: Sequence[str] = (),
    latest: datetime.datetime | None = None,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    end = now + datetime.timedelta(days=days)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject or x509.Name([]))
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _MARGIN)
        .not_valid_after(min(end, latest) if latest else end)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(_usage(ca=ca), critical=True)
    )
    if names:
        alternative = x509.SubjectAlternativeName([_alternative_name(name) for name in names])
        # RFC 5280: without a subject, the alternative name is critical.
        builder = builder.add_extension(alternative, critical=subject is None)
    if not ca:
        purposes = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
    return builder.sign(key, hashes.SHA256())


def _alternative_name(name: str) -> x509.GeneralName:
    if "://" in name:
        return x509.UniformResourceIdentifier(name)
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*, ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not ca,
        key_cert_sign=ca,
        crl_sign=ca,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common: str) -> x509.Name:
    named = {NameOID.ORGANIZATION_NAME: TRUST_DOMAIN, NameOID.COMMON_NAME: common}
    return x509.Name([x509.NameAttribute(key, text) for key, text in named.items()])


def _public(key: object) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)  # type: ignore[attr-defined, no-any-return]


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _write(file: Path, content: bytes) -> None:
    file.touch(mode=0o600)
    file.write_bytes(content)
