"""All checks, for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from provision.paths import ROOT, SBOM
from provision.step import say
from provision.supply_chain import advisories, contents
from provision.supply_chain.checks import Check
from provision.supply_chain.secrets import secrets

FOUND, INCOMPLETE = 3, 4
"""The exit codes where something was found, and where nothing was found but not everything was looked at."""


def audit(as_json: bool = False) -> int:
    """Runs every check and prints what it found.

    Args:
        as_json: Prints one JSON document instead of text.

    Returns:
        The exit code: 0 if everything was looked at and nothing was found.

    Raises:
        SetupError: A tool cannot be installed, or fails.
    """
    described = contents.describe()
    steps = (advisories.python, advisories.go, advisories.npm, lambda: contents.licences(described), secrets)
    checks = [step() for step in steps]
    code = verdict(checks)
    if as_json:
        print(json.dumps({"checks": [asdict(check) for check in checks], "exit_code": code}, indent=2))
    else:
        print("\n".join(lines(checks)))
        say(f"What is shipped is listed in {SBOM.relative_to(ROOT)}/*.cdx.json.")
    return code


def verdict(checks: Sequence[Check]) -> int:
    """The exit code of checks."""
    if any(not finding.reason for check in checks for finding in check.findings):
        return FOUND
    return INCOMPLETE if any(check.unchecked for check in checks) else 0


def lines(checks: Sequence[Check]) -> Iterator[str]:
    """What people read: each check with what it found and what it left out, then the sum."""
    for check in checks:
        yield f"{check.title}: looked at {check.looked_at}"
        for finding in sorted(check.findings, key=lambda each: bool(each.reason)):
            yield f"  {'accepted' if finding.reason else 'FOUND'}  {finding.where}: {finding.id}: {finding.detail}"
            if finding.reason:
                yield f"            {finding.reason}"
        yield from (f"  NOT CHECKED  {each}" for each in check.unchecked)
    found = sum(not finding.reason for check in checks for finding in check.findings)
    left_out = sum(len(check.unchecked) for check in checks)
    yield f"{found or 'Nothing'} to repair in what was checked." + (
        f" {left_out} NOT CHECKED, see above: this is no clean bill." if left_out else ""
    )
