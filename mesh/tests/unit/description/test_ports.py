from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from mesh.description.ports import Ports, load_ports, replica_name
from mesh.errors import PortError


def test_default_base_is_18000() -> None:
    ports = load_ports({})
    assert ports["edge"] == 18000
    assert ports.url("jaeger-query-http") == "http://127.0.0.1:18072"


def test_base_moves_every_port() -> None:
    low, high = load_ports({"SHOP_PORT_BASE": "1024"}), load_ports({"SHOP_PORT_BASE": "65336"})
    assert {high[name] - low[name] for name in low.offsets} == {65336 - 1024}


def test_all_ports_differ_and_fit_the_span() -> None:
    offsets = list(load_ports({}).offsets.values())
    assert len(set(offsets)) == len(offsets)
    assert max(offsets) < 200


def test_the_place_of_each_replica_must_be_free(ports: Ports) -> None:
    several = replace(ports, replicas={"product": 2})
    with socket.create_server(("127.0.1.1", ports["product-grpc"])):
        ports.require_free(["product-grpc"])
        with pytest.raises(PortError, match=rf"127\.0\.1\.1:{ports['product-grpc']} \(product-grpc\)"):
            several.require_free(["product-grpc"])


def test_each_replica_has_its_own_address() -> None:
    ports = replace(load_ports({}), replicas={"product": 3, "rest-gateway": 2})
    assert [str(place) for place in ports.endpoints("product-grpc")] == [
        "127.0.0.1:18020",
        "127.0.1.1:18020",
        "127.0.2.1:18020",
    ]
    assert [str(place) for place in ports.endpoints("rest-gateway")] == ["127.0.0.1:18011", "127.0.1.1:18011"]
    assert [str(place) for place in ports.endpoints("jaeger-otlp-grpc")] == ["127.0.0.1:18070"]
    assert [ports.sidecar_address("product", replica) for replica in (1, 2)] == ["127.0.0.5", "127.0.1.5"]


def test_separate_components_have_separate_places_and_share_the_rest() -> None:
    apart = replace(load_ports({}), replicas={"product": 2}).apart
    assert [str(place) for place in apart.endpoints("product-grpc")] == ["127.0.8.1:18020", "127.0.9.1:18020"]
    assert [str(place) for place in apart.endpoints("graphql-gateway")] == ["127.0.8.1:18010"]
    assert [str(place) for place in apart.endpoints("jaeger-otlp-grpc")] == ["127.0.0.1:18070"]
    names = [replica_name("product", replica) for replica in apart.replicas_of("product")]
    assert names == ["product-apart", "product-apart-2"]


@pytest.mark.parametrize("base", ["1023", "65337", "-1", "18000.5", "eighteen", "18 000", "٣٠٠٠٠"])
def test_bad_base_names_itself_and_the_range(base: str) -> None:
    with pytest.raises(PortError, match=r"from 1024 to 65336") as error:
        load_ports({"SHOP_PORT_BASE": base})
    assert base in str(error.value)


def test_taken_port_names_component_owner_and_way_out(ports: Ports) -> None:
    with socket.create_server(("127.0.0.1", ports["postgres"])), pytest.raises(PortError) as error:
        ports.require_free(["edge", "postgres"])
    message = str(error.value)
    assert f"{ports['postgres']} (postgres)" in message
    assert f"{ports['edge']} " not in message
    assert f"SHOP_PORT_BASE={ports.base + 200}" in message


def test_a_port_may_be_taken_over_udp_alone(ports: Ports) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", ports["edge"]))
        ports.require_free(["edge"])
        with pytest.raises(PortError, match=rf"127\.0\.0\.1:{ports['edge']} \(edge, UDP\)"):
            ports.require_free(["edge"], udp=True)
