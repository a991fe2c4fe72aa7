"""The documented shape of every body that goes in or comes out.

Bodies that come in are validated by these models. Bodies that go out are encoded straight from the services' value
types (`shop.resources.documents`), because building a model per row costs more than everything else that a gateway
does; the tests validate real answers against the document made from these models, so that neither can drift.
"""
