from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from experiment.commands.conformance import conformance_table, laws_of, program_of
from experiment.errors import UsageError
from mesh.errors import MeshError

RESULTS = """
<testsuites><testsuite>
  <testcase classname="a.test_stock" file="a/test_stock.py" name="test_all_lines_or_none[grpc]" />
  <testcase classname="a.test_stock" file="a/test_stock.py" name="test_bad_is_named[grpc-1]" />
  <testcase classname="a.test_stock" file="a/test_stock.py" name="test_bad_is_named[grpc-2]">
    <failure message="AssertionError: 3 is not 4&#10;more">…</failure>
  </testcase>
  <testcase classname="a.test_names" file="a/test_names.py" name="test_names"><skipped message="not here" /></testcase>
  <testcase classname="a.test_names" file="a/test_names.py" name="test_more">
    <error message="failed on setup with &quot;it died" />
  </testcase>
  <testcase classname="a.test_rpc" file="a/test_rpc.py" name="test_codes[raw]">
    <failure message="&lt;RpcError of RPC that terminated with:&#10;&#9;status = StatusCode.UNIMPLEMENTED&#10;
      details = &quot;not &quot;yet&quot;&quot;&#10;&#9;debug = &quot;x&quot;&gt;" />
  </testcase>
  <testcase classname="a.test_rpc" file="a/test_rpc.py" name="test_codes[mapped]">
    <failure message="shop.errors.Internal: internal error" />
    <system-out>ERROR errors.py:72 product ended a call with UNKNOWN: boom
</system-out>
  </testcase>
</testsuite></testsuites>
"""


def test_cases_of_a_test_are_one_law() -> None:
    laws = laws_of(ElementTree.fromstring(RESULTS))
    assert [(law.suite, law.says, law.cases, law.verdict) for law in laws] == [
        ("stock", "all lines or none", 1, "holds"),
        ("stock", "bad is named", 2, "FAILS"),
        ("names", "names", 1, "skipped"),
        ("names", "more", 1, "FAILS"),
        ("rpc", "codes", 2, "FAILS"),
    ]
    assert laws[1].failed == ["grpc-2: AssertionError: 3 is not 4"]
    assert laws[3].failed == ["it died"]
    assert laws[4].failed == [
        'raw: a call is answered with UNIMPLEMENTED: not "yet"',
        "mapped: a call is answered with UNKNOWN: boom",
    ]
    table = conformance_table("product", ["./product", "-v"], laws)
    assert "whether ./product -v does: 3 of 5 do not hold" in table.caption


def test_program_is_ours_unless_one_is_given() -> None:
    assert program_of("product", "", "") == ("product", [sys.executable, "-m", "measured", "product"])
    assert program_of("product", "", "user:python") == ("user", [sys.executable, "-m", "measured", "user"])
    assert program_of("product", "/bin/sh -c 'exec x'", "") == ("product", ["/bin/sh", "-c", "exec x"])


def test_a_program_is_found_from_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "product").symlink_to("/bin/sh")
    monkeypatch.chdir(tmp_path)
    assert program_of("product", "./product -v", "") == ("product", [f"{tmp_path}/product", "-v"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("edge", "", ""), "component=edge: there are no tests for it; valid: product, user"),
        (("product", "", "user:go"), "there is no such component; valid: product:go, graphql-gateway:go"),
        (("product", "", "product:go,user:python"), "give only one program"),
        (("product", "./product 'x", ""), "command=./product 'x: No closing quotation; quote it as for a shell"),
        (("product", "", "product:rust"), "valid languages: python, go"),
    ],
)
def test_what_cannot_be_tested_is_refused(given: tuple[str, str, str], message: str) -> None:
    with pytest.raises((UsageError, MeshError), match=message):
        program_of(*given)
