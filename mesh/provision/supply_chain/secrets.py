"""Secrets in the checkout's history."""

from __future__ import annotations

import json
from pathlib import Path

from provision import golang
from provision.paths import ROOT
from provision.supply_chain.checks import Check, Finding, ask, cause, table

GITLEAKS = "github.com/zricethezav/gitleaks/v8@v8.30.1"


def secrets(root: Path = ROOT) -> Check:
    """Looks for secrets in all commits up to the present one; a line with `gitleaks:allow` is left out.

    Args:
        root: The checkout.
    """
    title = "secrets"
    program = str(golang.tool(GITLEAKS, "gitleaks"))
    options = [
        "--no-banner",
        "--redact",
        "--exit-code=0",
        "--log-level=error",
        "--report-format=json",
        "--report-path=-",
    ]
    done = ask([program, "git", *options, "--log-opts=HEAD", str(root)], root)
    commits = ask(["git", "rev-list", "--count", "HEAD"], root)
    if done.returncode != 0 or commits.returncode != 0 or not done.stdout.strip():
        return Check(title, "nothing", unchecked=[f"the history: {cause(done if done.returncode else commits)}"])
    accepted = table().get("secrets", {})
    found = [
        Finding(
            f"{leak['File']}:{leak['StartLine']}",
            leak["RuleID"],
            f"since commit {leak['Commit'][:8]}",
            accepted.get(f"{leak['File']} {leak['RuleID']}", ""),
        )
        for leak in json.loads(done.stdout)
    ]
    return Check(title, f"{commits.stdout.strip()} commits", found)
