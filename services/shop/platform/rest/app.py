"""Makes the FastAPI application to which routes are added, with its OpenAPI document and Swagger UI.

Swagger UI's page loads nothing from elsewhere, so it works offline: script and style come with the package
fastapi-swagger, which follows Swagger UI's releases.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.convertors import register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import Response

from shop.platform.http.caching import RELEASE
from shop.platform.incoming import Incoming
from shop.platform.rest.answers import JSON, representation
from shop.platform.rest.openapi import PublishedSchema, as_text, document
from shop.platform.rest.problems import answer_http_error, answer_invalid_request
from shop.platform.rest.requests import NameConvertor, RestCall, Serving, route_class

_ASSETS = {
    "swagger-ui-bundle.js": b"text/javascript",
    "swagger-ui.css": b"text/css",
    "favicon-32x32.png": b"image/png",
}


def rest_api(
    *,
    title: str,
    summary: str,
    description: str,
    tags: dict[str, str],
    incoming: Incoming,
    published: Mapping[type, PublishedSchema],
) -> FastAPI:
    """Returns an application without routes; add the routes, and after them the docs (`add_docs`)."""
    register_url_convertor("name", NameConvertor())
    api = FastAPI(
        title=title,
        version="1.0.0",
        summary=summary,
        description=description,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        openapi_tags=[{"name": name, "description": about} for name, about in tags.items()],
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # `Serving` makes the spans; FastAPI would add a second SERVER span, with the messages of exceptions.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        generate_unique_id_function=lambda route: route.name,
        middleware=[Middleware(Serving, incoming)],
        exception_handlers={RequestValidationError: answer_invalid_request, HTTPException: answer_http_error},
    )
    api.state.published = published
    api.router.route_class = route_class(incoming.authenticator)
    return api


def add_docs(api: FastAPI) -> None:
    """Declares `/openapi.json`, `/docs` and the page's assets; call it after all other routes are declared."""
    # Built on the first request: few clients ask for it, and building it takes longer than the rest of an API's start.
    text = cache(lambda: as_text(document(api)).encode())
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title=api.title,
        swagger_js_url="/docs/swagger-ui-bundle.js",
        swagger_css_url="/docs/swagger-ui.css",
        swagger_favicon_url="/docs/favicon-32x32.png",
        swagger_ui_parameters={"persistAuthorization": True, "displayRequestDuration": True, "filter": True},
    )

    @api.get("/openapi.json", include_in_schema=False)
    async def get_openapi_document(call: RestCall) -> Response:
        return representation(call, text(), RELEASE, JSON)

    @api.get("/docs", include_in_schema=False)
    async def get_docs(call: RestCall) -> Response:
        return representation(call, bytes(page.body), RELEASE, b"text/html; charset=utf-8")

    for name, media_type in _ASSETS.items():
        _add_asset(api, name, media_type)


def _add_asset(api: FastAPI, name: str, media_type: bytes) -> None:
    asset = files("fastapi_swagger.resources").joinpath(name)

    @api.get(f"/docs/{name}", name=f"get_docs_{name}", include_in_schema=False)
    async def get_docs_asset(call: RestCall) -> Response:
        return representation(call, asset.read_bytes(), RELEASE, media_type)
