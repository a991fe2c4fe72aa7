"""Applications and their proxies, as Envoy, Istio and others trace them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hops.budget.any_system import budget_of_any, tree_of

IN, OUT = "upstream_cluster=inbound|9080||", "upstream_cluster=outbound|9080||reviews.default.svc.cluster.local"


def parts(spans):
    tree = tree_of(spans)
    budget = budget_of_any(tree)
    assert budget.gap_ns == 0
    assert tree.quality.complete
    return dict(budget.parts)


CASES = {
    # Istio's spans are like this if Zipkin's tracer in Envoy writes them.
    "spans that are all CLIENT answer each other": ("""
gateway request     CLIENT 0..100
`- page in           CLIENT 4..96
   `- page out        CLIENT 20..80
      `- reviews in     CLIENT 24..76
""", {"wire:gateway→page": 8, "work:page": 32, "wire:page→reviews": 8, "work:reviews": 52}),
    # Each component answers the component above and calls the component below; the last only answers.
    "a chain of components with one client span each": ("""
gateway request     CLIENT 0..100
`- waypoint forward  CLIENT 4..96
   `- egress forward  CLIENT 20..80
      `- reviews get    CLIENT 24..76
""", {"wire:gateway→waypoint": 8, "wire:waypoint→egress": 32, "wire:egress→reviews": 8, "work:reviews": 52}),
    "a CLIENT span above its own application's is a proxy's": ("""
gateway request     CLIENT 0..100
`- page in           CLIENT 4..96
   `- page get         SERVER 6..120
""", {"wire:gateway→page": 8, "proxy:page": 2, "work:page": 90}),
    "a client below a client that calls somebody outside": ("""
shop order          SERVER 0..100
`- shop POST         CLIENT 10..90
   `- egress forward   CLIENT 12..88 url.full=https://pay.example.com/
""", {"work:shop": 20, "wire:shop→egress": 4, "external:egress→pay.example.com": 76}),
    # Envoy writes both with `spawn_upstream_span`: the proxy's own time is separate from the wire to the next
    # component.
    "an application and an egress sidecar with spans of both ways": (f"""
page index                 SERVER 0..100
`- page GET                 CLIENT 10..90
   `- page egress            SERVER 12..88 component=proxy {OUT}
      `- page router          CLIENT 15..86 component=proxy {OUT}
         `- reviews get        SERVER 20..80
""", {"work:page": 20, "wire:page→page": 4, "proxy:page": 5, "wire:page→reviews": 11, "work:reviews": 60}),
    "an inbound sidecar with spans of both ways": (f"""
gateway get                  SERVER 0..100
`- gateway GET                CLIENT 5..95
   `- reviews inbound           SERVER 10..90 component=proxy {IN}
      `- reviews router          CLIENT 13..88 component=proxy {IN}
         `- reviews get            SERVER 15..80
""", {
        "work:gateway": 10, "wire:gateway→reviews": 10, "proxy:reviews": 5, "wire:reviews→reviews": 10,
        "work:reviews": 65,
    }),
    # Nothing distinguishes a proxy's time from its application's, so both count as the application's work.
    "a mesh whose applications leave no spans": (f"""
istio-ingressgateway page      CLIENT 0..100 component=proxy upstream_cluster=outbound|9080||page.default.svc
`- page.default in             SERVER 4..96 component=proxy {IN}
   `- page.default out           CLIENT 20..80 component=proxy {OUT}
      `- reviews.default in        SERVER 24..76 component=proxy {IN}
""", {
        "wire:istio-ingressgateway→page.default": 8, "work:page.default": 32, "wire:page.default→reviews.default": 8,
        "work:reviews.default": 52,
    }),
    # The time within the span of the request to the application is the application's work; the rest is the proxy's.
    "an application without spans behind a proxy with spans of both ways": (f"""
gateway get                  SERVER 0..100
`- gateway GET                CLIENT 5..95
   `- reviews inbound           SERVER 10..90 component=proxy {IN}
      `- reviews router          CLIENT 13..88 component=proxy {IN}
""", {"work:gateway": 10, "wire:gateway→reviews": 10, "proxy:reviews": 5, "work:reviews": 75}),
    # Without marks, both are one component; the application's work is on the path anyway.
    "an application of its proxy's name that closes its span later": ("""
page request             SERVER 0..100
`- page get               SERVER 5..140
   `- page select          CLIENT 20..60 db.system=mysql
""", {"work:page": 60, "db:page": 40}),
    "an application that hangs is waited for by its proxy": (f"""
page request                SERVER 0..100 component=proxy {IN}
`- page get                  SERVER 2..900
""", {"proxy:page": 2, "work:page": 98}),
    "a job that a request begins is not waited for": ("""
shop order              SERVER 0..100
`- mail send             SERVER 90..300
""", {"work:shop": 100}),
    # The proxy's cluster is another component, so the forwarded call is visible.
    "a proxy in front of all": ("""
front-proxy ingress        SERVER 0..100 component=proxy upstream_cluster=service
`- front-proxy router       CLIENT 10..95 component=proxy upstream_cluster=service
   `- service get            SERVER 20..80
""", {"proxy:front-proxy": 15, "wire:front-proxy→service": 25, "work:service": 60}),
    "what a proxy answered itself is its own time": (f"""
page index                 SERVER 0..100
`- page GET                 CLIENT 10..90
   `- page outbound           CLIENT 12..88 component=proxy {OUT} response_flags=UH
""", {"work:page": 20, "wire:page→page": 4, "proxy:page": 76}),
    # Linkerd's sidecars, and older Istio sidecars, have one name.
    "sidecars that all have one name": ("""
web index                   SERVER 0..100
`- web GET                   CLIENT 10..90
   `- linkerd-proxy out        CLIENT 12..88
      `- linkerd-proxy in       SERVER 20..80
         `- voting get            SERVER 22..79
""", {
        "work:web": 20, "wire:web→linkerd-proxy": 4, "wire:linkerd-proxy→linkerd-proxy": 16, "proxy:linkerd-proxy": 3,
        "work:voting": 57,
    }),
}  # fmt: skip


@pytest.mark.parametrize(("drawing", "expected"), CASES.values(), ids=CASES)
def test_time_goes_where_the_caller_waited(draw, drawing, expected):
    assert parts(draw(drawing)) == expected


@pytest.mark.parametrize(("own", "sidecar"), [("page", "page"), ("page", "page.default")])
def test_an_application_and_its_egress_sidecar(draw, own, sidecar):
    """The sidecar often has the name of the application."""
    spans = draw(f"""
{own} index                SERVER 0..100
`- {own} GET                CLIENT 10..90
   `- {sidecar} reviews       CLIENT 12..88 component=proxy {OUT}
      `- reviews get           SERVER 20..80
""")
    assert parts(spans) == {
        "work:page": 20, f"wire:page→{sidecar}": 4, f"wire:{sidecar}→reviews": 16, "work:reviews": 60,
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["SERVER", "CLIENT"])
def test_sidecars_on_both_sides_of_a_call(draw, kind):
    """The worked example of the documentation; some tracers write CLIENT for incoming requests too."""
    spans = draw(f"""
page index                   SERVER 0..100
`- page GET                   CLIENT 10..90
   `- page outbound             CLIENT 12..88 component=proxy {OUT} node_id=sidecar~10.0.0.1~page
      `- reviews inbound         {kind} 18..82 component=proxy {IN} node_id=sidecar~10.0.0.2~reviews
         `- reviews get            SERVER 21..80
            `- reviews select       CLIENT 30..50 db.system=mysql
""")
    assert parts(spans) == {
        "work:page": 20, "wire:page→page": 4, "wire:page→reviews": 12, "proxy:reviews": 5, "work:reviews": 39,
        "db:reviews": 20,
    }  # fmt: skip


def test_sidecars_that_share_the_id_of_a_call(draw):
    """Zipkin's tracer in Envoy does so with `shared_span_context`: the application's parent is both halves' id."""
    spans = draw(f"""
page.default out              CLIENT 0..100 component=proxy {OUT}
`- reviews.default in          SERVER 18..82 component=proxy {IN}
   `- reviews get                SERVER 21..80
""")
    shared = [
        spans[0],
        replace(spans[1], span_id=spans[0].span_id, parent_id=""),
        replace(spans[2], parent_id=spans[0].span_id),
    ]
    assert parts(shared) == parts(spans) == {
        "wire:page.default→reviews.default": 36, "proxy:reviews.default": 5, "work:reviews": 59,
    }  # fmt: skip


@pytest.mark.parametrize("marks", ["", f"component=proxy {IN}"])
def test_an_application_that_closes_its_span_after_its_proxys(draw, marks):
    """Half of the application's span is after the end of the proxy's span, which ended with the answer's last byte."""
    spans = draw(f"""
gateway get                SERVER 0..100
`- gateway GET              CLIENT 10..90
   `- page-proxy request      SERVER 20..80 {marks}
      `- page get               SERVER 25..130
""")
    kind = "proxy" if marks else "work"
    assert parts(spans) == {
        "work:gateway": 20, "wire:gateway→page-proxy": 20, f"{kind}:page-proxy": 5, "work:page": 55,
    }  # fmt: skip


def test_a_gateway_whose_callee_leaves_no_spans(draw):
    """The gateway may write a SERVER span: all of that span's time is the call."""
    spans = draw(f"""
web get                      SERVER 0..100
`- web GET                    CLIENT 10..90
   `- egressgateway request     SERVER 20..80 component=proxy {OUT}
""")
    assert parts(spans)["external:egressgateway→reviews.default.svc.cluster.local"] == 60


def test_a_proxys_call_whose_answer_was_lost(draw):
    spans = draw(f"""
page index                 SERVER 0..100
|- page GET                 CLIENT 10..40
|  `- page outbound           CLIENT 12..38 component=proxy {OUT}
|     `- reviews get           SERVER 20..30
`- page GET                 CLIENT 50..90
   `- page outbound           CLIENT 52..88 component=proxy {OUT}
""")
    tree = tree_of(spans)
    assert dict(budget_of_any(tree).parts)["unattributed"] == 36
    assert tree.quality.missing_servers == 1


def test_no_name_of_a_component_shows_how_proxies_were_kept_apart(draw):
    spans = draw(f"""
page index                 SERVER 0..100 component=proxy {IN}
`- page get                 SERVER 10..90
   `- page out                CLIENT 12..88 component=proxy {OUT}
""")
    tree = tree_of(spans)
    assert {node.span.service for node in tree.nodes} == {"page"}
    assert dict(budget_of_any(tree).parts) == {
        "proxy:page": 20, "work:page": 4, "external:page→reviews.default.svc.cluster.local": 76,
    }  # fmt: skip
