"""The OpenAPI document and Swagger UI over HTTP; nothing on the page comes from elsewhere, so it works offline.

The page's script and style come with the package fastapi-swagger, which follows Swagger UI's releases.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.responses import Response

from shop.platform.http.caching import RELEASE
from shop.platform.rest.answers import JSON, representation
from shop.platform.rest.call import Call
from shop.platform.rest.openapi import as_text, document

_ASSETS = {
    "swagger-ui-bundle.js": b"text/javascript",
    "swagger-ui.css": b"text/css",
    "favicon-32x32.png": b"image/png",
}


def add_docs(api: FastAPI) -> None:
    """Declares `/openapi.json`, `/docs` and what the page needs; call it after all other routes are declared."""
    # Built on the first request: few ever ask, and it takes longer than all the rest of an API's start.
    text = cache(lambda: as_text(document(api)).encode())
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title=api.title,
        swagger_js_url="/docs/swagger-ui-bundle.js",
        swagger_css_url="/docs/swagger-ui.css",
        swagger_favicon_url="/docs/favicon-32x32.png",
        swagger_ui_parameters={"persistAuthorization": True, "displayRequestDuration": True, "filter": True},
    )
    page_bytes = bytes(page.body)

    @api.get("/openapi.json", include_in_schema=False)
    async def get_openapi_document(call: Call) -> Response:
        return representation(call, text(), RELEASE, JSON)

    @api.get("/docs", include_in_schema=False)
    async def get_docs(call: Call) -> Response:
        return representation(call, page_bytes, RELEASE, b"text/html; charset=utf-8")

    for name, media_type in _ASSETS.items():
        _add_asset(api, name, media_type)


def _add_asset(api: FastAPI, name: str, media_type: bytes) -> None:
    asset = files("fastapi_swagger.resources").joinpath(name)

    @api.get(f"/docs/{name}", name=f"get_docs_{name}", include_in_schema=False)
    async def get_docs_asset(call: Call) -> Response:
        return representation(call, asset.read_bytes(), RELEASE, media_type)
