from __future__ import annotations

from pathlib import Path

import pytest

from mesh.description.topology import Protocol, load_topology, names, parse_topology
from mesh.errors import TopologyError

GOOD = """\
name: mine
about: my topology
entry:
  web: graphql-gateway
  mobile: graphql-gateway
  partner: graphql-gateway
links:
  graphql-gateway:
    product: grpc
    order: grpc
    user: grpc
    payment: grpc
  order: {product: grpc, user: grpc, payment: grpc}
"""


def test_every_topology_of_the_project_loads_under_its_name() -> None:
    assert "hybrid" in names()
    for name in names():
        assert load_topology(name).name == name


def test_hybrid() -> None:
    hybrid = load_topology("hybrid")
    assert hybrid.gateways == ["graphql-gateway", "rest-gateway"]
    assert hybrid.components == ["product", "user", "payment", "order", "graphql-gateway", "rest-gateway"]
    assert hybrid.protocols_of("order") == [Protocol.GRPC]
    assert hybrid.protocols_of("rest-gateway") == [Protocol.REST]


def test_commands_are_found_from_the_topologys_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    programs = "{user: {command: [./bin/user, --port, ./x]}, product: {command: [product]}, payment: {command: [/p]}}"
    file.write_text(GOOD + f"programs: {programs}\n")
    assert {name: one.command for name, one in load_topology(str(file)).programs.items()} == {
        "user": (str(tmp_path / "bin" / "user"), "--port", "./x"),
        "product": ("product",),
        "payment": ("/p",),
    }


def test_a_switch_overrides_the_file_s_programs() -> None:
    by_file, hybrid = load_topology("hybrid-go"), load_topology("hybrid")
    chosen = ("product", "graphql-gateway")
    assert by_file.programs == hybrid.with_implementations(dict.fromkeys(chosen, "go")).programs
    assert by_file.with_implementations(dict.fromkeys(chosen, "python")).programs == {}
    assert by_file.links == hybrid.links


@pytest.mark.parametrize("which", ["hybird", "", "..", "Hybrid"])
def test_unknown_name_lists_the_valid_ones(which: str) -> None:
    with pytest.raises(TopologyError, match="hybrid"):
        load_topology(which)


def test_missing_file_is_named() -> None:
    with pytest.raises(TopologyError, match=r"nowhere/mine\.yaml: there is no such file"):
        load_topology("nowhere/mine.yaml")


@pytest.mark.parametrize("name", ["grpc", "hybrid"])
def test_notification_is_there_with_updates_only(name: str) -> None:
    assert "notification" not in load_topology(name).model_dump_json()
    updated = load_topology(name, updates="on")
    assert updated.links["notification"] == {"order": Protocol.GRPC, "user": Protocol.GRPC}
    assert updated.links["order"]["notification"] is Protocol.GRPC
    assert updated.without_updates() == load_topology(name)


def test_updates_of_a_topology_without_notification_name_those_that_have_it() -> None:
    able = "graphql, grpc, grpc-go, hybrid, rest, rest-go, or the path"
    with pytest.raises(TopologyError, match=rf"updates=on with topology=thrift, .* Valid: {able}"):
        load_topology("thrift", updates="on")


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("notification: {order: grpc, user: grpc}", None),
        ("", "the link notification -> order is missing"),
        ("notification: {order: grpc}", "the link notification -> user is missing"),
        ("notification: {order: grpc, user: grpc, payment: grpc}", "notification does not call payment; it calls"),
        ("notification: {order: grpc, user: grpc}\n  payment: {order: grpc}", "makes a cycle: .*payment"),
    ],
)
def test_only_deliveries_may_lead_back_to_their_caller(more: str, problem: str | None) -> None:
    text = (
        "name: mine\nabout: It has updates\nentry: {web: services, mobile: services, partner: services}\nlinks:\n"
        "  client: {product: grpc, user: grpc, payment: grpc, order: grpc, notification: grpc}\n"
        f"  order: {{product: grpc, user: grpc, payment: grpc, notification: grpc}}\n  {more}\n"
    )
    if problem is None:
        assert parse_topology(text, "mine.yaml").has_updates
        return
    with pytest.raises(TopologyError, match=problem):
        parse_topology(text, "mine.yaml")


def replace(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


ALIASES = "a: &a [x, x, x]\n" + "".join(
    f"{one}: &{one} [{', '.join([f'*{chr(ord(one) - 1)}'] * 9)}]\n" for one in "bcdefghi"
)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"name: x\nabout: \xff\n", r"mine\.yaml:2: not valid YAML: the file is not in UTF-8"),
        (b"# " + bytes(2**20), r"mine\.yaml: is larger than 65536 bytes"),
    ],
)
def test_a_binary_file_is_refused(tmp_path: Path, raw: bytes, message: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_bytes(raw)
    with pytest.raises(TopologyError, match=message):
        load_topology(str(file))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: [", r"t\.yaml:\d: not valid YAML"),
        ("- a\n- b\n", r"t\.yaml:1: is not a mapping; give a mapping with the keys name, about, entry, links$"),
        ("", r"t\.yaml:1: is empty; give a mapping with the keys"),
        ("name: \x00", "not valid YAML"),
        (replace("name: mine\n", ""), r"t\.yaml:1: name: is missing"),
        (replace("about: my topology", "about: 3"), r"t\.yaml:2: about: must be text, not 3: put it in quotes$"),
        *(
            (replace("name: mine", f"name: {name!r}"), r"t\.yaml:1: name: .* is not valid; use letters and digits")
            for name in ("../../mine", "..", "", "a/b", "a b", "-a", "a--b", "mine\n", "a.b", "ä")
        ),
        (
            replace("name: mine", f"name: {'x' * 61}"),
            r"t\.yaml:1: name: is 'x{60}…'; it may have at most 60 characters",
        ),
        (
            GOOD + "colour: red\n",
            r"t\.yaml:14: colour: is not a key here; valid: name, about, entry, links, plan, libr",
        ),
        (GOOD + "plans: best\n", r"t\.yaml:14: plans: is not a key here; did you mean plan\? valid: name, about"),
        (replace("  web:", "  fax:"), r"t\.yaml:4: entry\.fax: 'fax' is unknown; valid: web, mobile, partner"),
        (replace("  mobile: graphql-gateway\n", ""), "channel mobile is missing"),
        (replace("  web: graphql-gateway", "  web: order"), r"t\.yaml:4: entry\.web: order cannot be an entry"),
        (
            replace("  web: graphql-gateway", "  web: gateway"),
            r"t\.yaml:4: entry\.web: gateway is an unknown component; valid",
        ),
        (
            replace("    user: grpc\n", "    users: grpc\n"),
            r"t\.yaml:11: links\.graphql-gateway\.users: users is an unknown component",
        ),
        (replace("    user: grpc\n", "    user: soap\n"), r"t\.yaml:11: .*'soap' is unknown; valid: grpc"),
        (
            replace("partner: graphql-gateway", "partner: services")
            + "  client: {product: graphql, order: graphql, user: graphql, payment: graphql}\n",
            "graphql-gateway and services over graphql cannot both be entries",
        ),
        (
            replace("partner: graphql-gateway", "partner: services")
            + "  client: {product: grpc, order: grpc, user: grpc, payment: grpc, notification: graphql}\n",
            "notification has no subscriptions for clients over its own graphql; valid: grpc, rest",
        ),
        (
            replace("partner: graphql-gateway", "partner: services")
            + "  client: {product: grpc, order: grpc, user: grpc, payment: rest}\n",
            "client speaks grpc and rest; it must speak one of them",
        ),
        (replace("partner: graphql-gateway", "partner: services"), "the link client -> order is missing"),
        (replace("partner: graphql-gateway", "partner: transcoder"), "the link transcoder -> order is missing"),
        (
            replace("partner: graphql-gateway", "partner: transcoder")
            + "  transcoder: {product: rest, order: grpc, user: grpc, payment: grpc}\n",
            "transcoder does not speak rest; valid: grpc",
        ),
        (
            replace("partner: graphql-gateway", "partner: grpc-web")
            + "  grpc-web: {product: rest, order: grpc, user: grpc, payment: grpc}\n",
            "grpc-web does not speak rest; valid: grpc",
        ),
        (
            replace("mobile: graphql-gateway\n  partner: graphql-gateway", "mobile: services\n  partner: grpc-web")
            + "  grpc-web: {product: grpc, order: grpc, user: grpc, payment: grpc}\n"
            + "  client: {product: rest, order: rest, user: rest, payment: rest}\n",
            "client speaks rest where grpc-web is an entry too; valid: grpc",
        ),
        (
            replace("order: {product: grpc", "order: {product: connect"),
            "order does not speak connect; valid: graphql, grpc, rest",
        ),
        (GOOD + "library: connect-go\n", "library: connect-go is for a client that speaks grpc to the services"),
        (GOOD + "plan: lazy\n", "'lazy' is unknown; valid: best, naive, streaming"),
        (replace("    user: grpc\n", ""), "the link graphql-gateway -> user is missing"),
        (replace("user: grpc, ", ""), r"t\.yaml:13: links\.order: the link order -> user is missing"),
        (GOOD[: GOOD.index("  order: {")], "the link order -> payment is missing"),
        (GOOD + "  product: {order: grpc}\n", "makes a cycle: product -> order -> product"),
        (GOOD + "  user: {user: grpc}\n", "makes a cycle: user -> user"),
        (GOOD + "  product: {payment: grpc}\n", "product does not call payment; it calls nobody"),
        (GOOD + "  rest-gateway: {product: grpc}\n", r"t\.yaml:14: links\.rest-gateway: nothing leads to rest-gateway"),
        (GOOD + "name: twice\n", r"t\.yaml:14: not valid YAML: the key 'name' appears twice"),
        (GOOD + "programs: {user: {}}\n", r"t\.yaml:14: programs\.user: needs either implementation, or at least"),
        (
            GOOD + "programs: {user: {command: [./u], implementation: go}}\n",
            "programs.user: needs either implementation, or at least",
        ),
        (
            GOOD + "programs: {user: {images: u}}\n",
            r"programs\.user\.images: is not a key here; did you mean image\? valid: implementation, command, image",
        ),
        (
            GOOD + "programs: {user: {command: ['']}}\n",
            r"programs\.user\.command\[0\]: is ''; it needs at least 1 character$",
        ),
        (
            GOOD + "programs:\n  edge: {command: [e]}\n",
            r"t\.yaml:15: programs\.edge: mine does not run edge; it runs product, user",
        ),
        (
            GOOD + "programs:\n  user: {implementation: go}\n",
            r"t\.yaml:15: programs\.user: there is no user in 'go'; valid: python",
        ),
        (GOOD + "programs:\n  product: {implementation: c}\n", r"there is no product in 'c'; valid: python, go"),
        (
            replace("    product: grpc\n", "    product: graphql\n") + "programs: {product: {implementation: go}}\n",
            "product in go does not serve graphql; it serves grpc, rest",
        ),
        (GOOD + "checkout: /other\n", r"checkout: cannot be set in a file; give `make compare-versions` two revisions"),
        ("name: &a [x]\nabout: *a\n", r"t\.yaml:2: not valid YAML: aliases are not accepted"),
        (ALIASES, r"t\.yaml:2: not valid YAML: aliases are not accepted"),
        ("name: x\nlinks: " + "[" * 5000, r"t\.yaml:2: not valid YAML: it is nested more than 16 levels"),
        ("name: x\nlinks: " + "{a: " * 5000, r"t\.yaml:2: not valid YAML: it is nested more than 16 levels"),
        ("- " * 5000, r"t\.yaml:1: not valid YAML: it is nested more than 16 levels"),
        ("name: x\nabout: \x1b[31m\n", "not valid YAML"),
        (f"name: x\nabout: {'9' * 5000}\n", r"t\.yaml: not valid YAML: Exceeds the limit"),
        (replace("name: mine", 'name: "\\e[31m"'), r"t\.yaml:1: name: '\\x1b\[31m' is not valid"),
        ("!!python/object/apply:os.system [ls]", r"t\.yaml:1: not valid YAML: could not determine a constructor"),
        (GOOD + "  order: {}\n", r"t\.yaml:14: not valid YAML: the key 'order' appears twice"),
    ],
)
def test_the_error_for_a_wrong_file_has_the_line_and_the_mistake(text: str, message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        parse_topology(text, "t.yaml")


@pytest.mark.parametrize("name", ["mine", "REST-2", "a-b-c", "x" * 60])
def test_names_that_folders_can_have(name: str) -> None:
    assert parse_topology(replace("name: mine", f"name: {name}"), "t.yaml").name == name


def test_anchors_are_fine() -> None:
    text = replace(
        "  order: {product: grpc, user: grpc, payment: grpc}", "  order: &o {product: grpc, user: grpc, payment: grpc}"
    )
    parse_topology(text, "t.yaml")
