"""The catalogue: `/v1/products` and `/v1/documents`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import FastAPI, Query

from shop.contract.ports import Catalogue, Page
from shop.errors import NotFound
from shop.money import Money
from shop.platform.http.caching import PUBLIC, surrogate_keys
from shop.platform.rest.answers import Answer, answer_changed, answer_created, answer_removed, as_read, ok
from shop.platform.rest.openapi import changing, creating, reading, removing
from shop.platform.rest.parameters import (
    VALUES_KEY,
    DocumentId,
    Ids,
    IfMatch,
    Limit20,
    PageSize1000,
    PageToken,
    ProductId,
    check_alone,
    parse_fields,
    parse_ids,
    parse_include,
)
from shop.platform.rest.requests import RestCall
from shop.resources import request_bodies
from shop.resources.response_bodies import ProductDocument, ProductFields, ProductPage, product_document
from shop.values.product import Document, Product, ReviewedProduct

INCLUDES = frozenset({"reviews"})

Include = Annotated[
    str,
    Query(
        description="What to include, with commas between: `reviews` (3 of each product).",
        json_schema_extra={VALUES_KEY: sorted(INCLUDES)},
    ),
]
Category = Annotated[
    str, Query(pattern=request_bodies.CATEGORY, description="Only products of this category.", examples=["c0000"])
]


def add_products(api: FastAPI, catalogue: Catalogue) -> None:
    @api.api_route(**reading("products", Catalogue.list_products))
    async def list_products(
        call: RestCall,
        category: Category = "",
        ids: Ids = None,
        page_size: PageSize1000 = 20,
        page_token: PageToken = "",
        include: Include = "",
        review_limit: Limit20 = 3,
        fields: ProductFields = "",
    ) -> Answer[ProductPage]:
        """A page of products by ascending id, of all or of one category; or the products of `ids`."""
        mask = parse_fields(fields, ProductDocument)
        with_reviews = parse_include(include, INCLUDES)
        token = ""
        products: Sequence[Product]
        if ids is not None:
            check_alone("ids", {"category": category, "page_token": page_token})
            wanted = parse_ids(ids, "ids")
            if with_reviews:
                products = await catalogue.batch_get_products_with_reviews(wanted, review_limit=review_limit)
            else:
                products = await catalogue.batch_get_products(wanted)
        else:
            page: Page[Product] | Page[ReviewedProduct]
            if with_reviews:
                page = await catalogue.list_products_with_reviews(
                    page_size=page_size, page_token=page_token, category=category, review_limit=review_limit
                )
            else:
                page = await catalogue.list_products(page_size=page_size, page_token=page_token, category=category)
            products, token = page.items, page.next_page_token
        document = ProductPage([product_document(product) for product in products], token)
        return ok(call, document, PUBLIC, mask, _keys(products, listed=True))

    @api.api_route(**reading("products", Catalogue.get_product, problems=[404]))
    async def get_product(
        call: RestCall, product_id: ProductId, include: Include = "", fields: ProductFields = ""
    ) -> Answer[ProductDocument]:
        """One product."""
        mask = parse_fields(fields, ProductDocument)
        if parse_include(include, INCLUDES):
            products = await catalogue.batch_get_products_with_reviews([product_id])
            if not products:
                raise NotFound(f"there is no product {product_id}", field="product_id")
            return ok(call, product_document(products[0]), PUBLIC, mask, _keys(products))
        product = await catalogue.get_product(product_id)
        return ok(call, product_document(product), PUBLIC, mask, _keys([product]))

    @api.api_route(**creating("products", Catalogue.create_product))
    async def create_product(product: request_bodies.NewProduct) -> Answer[ProductDocument]:
        """Adds a product to the catalogue."""
        made = await catalogue.create_product(
            title=product.title,
            description=product.description,
            category=product.category,
            price=_money(product.price),
            stock=product.stock,
        )
        return answer_created(product_document(made), f"/v1/products/{made.id}")

    @api.api_route(**changing("products", Catalogue.update_product, problems=[412, 428]))
    async def update_product(
        product_id: ProductId, change: request_bodies.ProductChange, if_match: IfMatch = None
    ) -> Answer[ProductDocument]:
        """Changes the fields of a product that the body names."""
        expected = await as_read(if_match, lambda: catalogue.get_product(product_id))
        made = await catalogue.update_product(
            product_id,
            expected=expected,
            title=change.title,
            description=change.description,
            category=change.category,
            price=_money(change.price) if "price" in change.model_fields_set else None,
            stock=change.stock,
        )
        return answer_changed(product_document(made))

    @api.api_route(**removing("products", Catalogue.delete_product, problems=[409, 412]))
    async def delete_product(product_id: ProductId, if_match: IfMatch = None) -> Answer[None]:
        """Removes a product and its reviews; not possible while stock of it is reserved."""
        expected = await as_read(if_match, lambda: catalogue.get_product(product_id))
        await catalogue.delete_product(product_id, expected=expected)
        return answer_removed()

    @api.api_route(**reading("products", Catalogue.get_document, problems=[404]))
    async def get_document(call: RestCall, document_id: DocumentId) -> Answer[Document]:
        """One technical document."""
        return ok(call, await catalogue.get_document(document_id), PUBLIC)


def _keys(products: Sequence[Product], *, listed: bool = False) -> tuple[str, ...]:
    return surrogate_keys([product.id for product in products], listed=listed)


def _money(price: request_bodies.Price) -> Money:
    return Money(price.amount_minor, price.currency)
