"""TLS settings for endpoints: trusted certificates, and the client's certificate."""

from __future__ import annotations

import ssl
from pathlib import Path

from experiment.own_target.addresses import SCHEMES, address_of
from experiment.own_target.file import TargetFile


def tls_of(file: TargetFile) -> dict[str, str]:
    """Makes the TLS part of the load generator's target file; it is empty if no endpoint uses TLS.

    Raises:
        UsageError: A certificate or a key is unusable; the message names the line and the file, but quotes no content.
    """
    given, target = file.target.tls, file.target
    schemes = {
        SCHEMES[address_of(file, url, "targets", name, "endpoints", endpoint).scheme][0]
        for name, place in target.targets.items()
        for endpoint, url in place.endpoints.items()
    }
    if "https" not in schemes:
        if given.model_fields_set:
            raise file.error("applies only to https and grpcs endpoints, but there are none", "tls")
        return {}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusted = given.ca and _path(file, "ca", given.ca)
    if trusted:
        try:
            context.load_verify_locations(trusted)
        except ssl.SSLError as error:
            raise file.error(f"{given.ca} has no certificate in PEM form", "tls", "ca") from error
    made = {
        "ca_certificate": trusted or ssl.get_default_verify_paths().cafile or "",
        "tls_min": given.min_version,
        "tls_max": given.max_version,
    }
    if given.certificate:
        shown, key = _path(file, "certificate", given.certificate), _path(file, "key", given.key)
        try:
            context.load_cert_chain(shown, key, _refuse)
        except _EncryptedKeyError as error:
            raise file.error(f"{given.key} is encrypted; give a key without a password", "tls", "key") from error
        except ssl.SSLError as error:
            raise file.error(
                f"{given.certificate} and {given.key} are not a certificate and its private key, both in PEM form",
                "tls",
                "certificate",
            ) from error
        made |= {"client_certificate": shown, "client_key": key}
    return made


class _EncryptedKeyError(Exception):
    pass


def _refuse() -> str:
    raise _EncryptedKeyError


def _path(file: TargetFile, key: str, name: str) -> str:
    path: Path = file.resolve(name).resolve()
    try:
        path.open("rb").close()
    except OSError as error:
        raise file.error(f"{name} cannot be read: {error.strerror}", "tls", key) from error
    return str(path)
