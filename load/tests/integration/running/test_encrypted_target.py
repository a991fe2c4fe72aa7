"""The shop's edge as a user's target: TLS with the run's certificates, HTTP/2, GraphQL, REST and gRPC."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from typer.testing import CliRunner

from experiment.cli import app
from experiment.commands import in_blocks
from hops.run.files import read_run
from mesh.native.system import System
from shop.stubs.product.v1 import product_pb2

REST = "{http: GET /v1/products?page_size=3, at: web, expect: {there: [/products/2/id]}}"
GRAPHQL = (
    '{graphql: "{ products(first: 3) { edges { node { id } } } }", at: web, '
    "expect: {there: [/data/products/edges/2/node/id]}}"
)
GRPC = (
    "{grpc: shop.product.v1.ProductService/ListProducts, message: {page_size: 3}, descriptors: product.pb, "
    "expect: {there: [/products/2/id]}}"
)


def descriptors() -> bytes:
    """Returns the descriptors of the product service and of all files that it imports."""
    found: dict[str, FileDescriptorProto] = {}

    def add(file: FileDescriptor) -> None:
        for imported in file.dependencies:
            add(imported)
        described = FileDescriptorProto()
        file.CopyToProto(described)
        found.setdefault(file.name, described)

    add(product_pb2.DESCRIPTOR)
    return FileDescriptorSet(file=found.values()).SerializeToString()


@pytest.mark.parametrize(
    ("shop", "scheme", "steps"),
    [("hybrid over TLS", "https", [REST, GRAPHQL]), ("grpc over TLS", "grpcs", [GRPC])],
    indirect=["shop"],
    scope="package",
)
def test_a_target_with_tls_is_loaded(
    shop: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str, steps: list[str]
) -> None:
    monkeypatch.setattr(in_blocks, "RESULTS", tmp_path / "results")
    (tmp_path / "product.pb").write_bytes(descriptors())
    assert shop.ca_certificate is not None
    address = shop.url.partition("://")[2]
    target = tmp_path / "edge.yaml"
    target.write_text(
        f"name: edge\ntargets: {{edge: {{endpoints: {{web: '{scheme}://{address}'}}}}}}\n"
        f"http: 2\ntls: {{ca: {shop.ca_certificate}}}\njourneys:\n  look: {{steps: [{', '.join(steps)}]}}\n",
        encoding="utf-8",
    )
    loading = ["load", str(target), "--rate", "20", "--warmup", "1s", "--duration", "2s", "--strict", "off", "--json"]
    done = CliRunner().invoke(app, loading)
    target.write_text(target.read_text().replace(str(shop.ca_certificate), str(tmp_path / "product.pb")))
    refused = CliRunner().invoke(app, loading)
    assert done.exit_code == 0, done.stderr
    (one,) = json.loads(done.stdout)["topologies"].values()
    assert one["journeys"]["all"]["count"] == 40
    (results,) = (tmp_path / "results").glob("2*-edge")
    assert set(read_run(results).journeys["outcome"]) == {"ok"}
    assert refused.exit_code in (1, 2)
    assert "product.pb" in refused.stderr
