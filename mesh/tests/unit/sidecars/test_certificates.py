from __future__ import annotations

import shutil
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from mesh.errors import CertificateError
from mesh.paths import RunFolder
from mesh.sidecars import certificates
from mesh.sidecars.certificates import Authority, authority, edge_certificate, issue, make_authority
from mesh.sidecars.workloads import identity


@pytest.fixture
def own(tmp_path: Path) -> Authority:
    return make_authority(tmp_path / "own")


def load_authority(folder: Path, tmp_path: Path) -> Authority:
    return authority(RunFolder.of(30000, tmp_path), {"HOPWISE_MESH_CA": str(folder)})


def test_a_certificate_identifies_its_holder(own: Authority, tmp_path: Path) -> None:
    made = issue(own, [identity("order")], tmp_path / "order")
    leaf, *chain = x509.load_pem_x509_certificates(made.chain.read_bytes())
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.UniformResourceIdentifier) == ["spiffe://cluster.local/ns/default/sa/order"]
    (root,) = x509.load_pem_x509_certificates(made.trusted.read_bytes())
    leaf.verify_directly_issued_by(chain[0])
    chain[0].verify_directly_issued_by(root)
    assert load_pem_private_key(made.key.read_bytes(), None).public_key() == leaf.public_key()
    assert made.key.stat().st_mode & 0o077 == 0
    assert made.key.parent.stat().st_mode & 0o077 == 0


def test_the_edge_s_certificate_is_for_the_hosts_by_which_it_is_reached(tmp_path: Path) -> None:
    folder = RunFolder.of(30000, tmp_path)
    made = edge_certificate(folder)
    leaf, intermediate = x509.load_pem_x509_certificates(made.chain.read_bytes())
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "edge"]
    assert names.get_values_for_type(x509.IPAddress) == [IPv4Address("127.0.0.1")]
    (root,) = x509.load_pem_x509_certificates(made.trusted.read_bytes())
    leaf.verify_directly_issued_by(intermediate)
    intermediate.verify_directly_issued_by(root)
    # The certificate has no identity in the mesh, and the mesh does not trust its authority.
    assert not names.get_values_for_type(x509.UniformResourceIdentifier)
    private = [made.key, folder.keys / "edge-ca" / "ca-key.pem"]
    assert all(file.stat().st_mode & 0o077 == 0 for file in [*private, *(key.parent for key in private)])


def test_a_certificate_ends_with_its_signer_s(own: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "ROOT_DAYS", 1)
    short = make_authority(tmp_path / "short")
    ends = [
        x509.load_pem_x509_certificates(issue(by, [identity("user")], tmp_path / name).chain.read_bytes())
        for name, by in (("long", own), ("short", short))
    ]
    assert (ends[0][0].not_valid_after_utc - ends[0][0].not_valid_before_utc).days == certificates.WORKLOAD_DAYS
    assert ends[1][0].not_valid_after_utc == ends[1][1].not_valid_after_utc


def test_each_run_has_a_new_authority(tmp_path: Path) -> None:
    folder = RunFolder.of(30000, tmp_path)
    first = authority(folder, {}).root_cert.read_bytes()
    assert authority(folder, {"HOPWISE_MESH_CA": ""}).root_cert.read_bytes() != first


def test_the_user_s_authority_is_used(own: Authority, tmp_path: Path) -> None:
    assert load_authority(own.folder, tmp_path) == own


def test_an_expired_authority(own: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "ROOT_DAYS", -1)
    monkeypatch.setattr(certificates, "_MARGIN", certificates.datetime.timedelta(days=2))
    make_authority(own.folder)
    with pytest.raises(CertificateError, match=r"ca-cert.pem expired on \d{4}-\d\d-\d\d; renew it"):
        load_authority(own.folder, tmp_path)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("ca-key.pem", None, r"HOPWISE_MESH_CA=.*own: ca-key.pem is missing; an authority has root-"),
        ("root-cert.pem", "another's", "ca-cert.pem is from another authority: it does not chain to"),
        ("ca-key.pem", "another's", "ca-key.pem is not the key of ca-cert.pem"),
        ("root-cert.pem", "nonsense", "root-cert.pem is not a certificate in PEM form"),
        ("ca-key.pem", "nonsense", "ca-key.pem is not an unencrypted private key in PEM form"),
    ],
)
def test_an_unusable_authority(own: Authority, tmp_path: Path, file: str, content: str | None, message: str) -> None:
    (own.folder / file).unlink()
    if content == "another's":
        shutil.copy(make_authority(tmp_path / "other").folder / file, own.folder)
    elif content:
        (own.folder / file).write_text(content)
    with pytest.raises(CertificateError, match=message):
        load_authority(own.folder, tmp_path)
