"""Makes the FastAPI application that routes are declared on."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.convertors import register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from shop.platform.incoming import Incoming
from shop.platform.rest.openapi import Published
from shop.platform.rest.problems import answer_http_error, answer_invalid_request
from shop.platform.rest.route import NameConvertor, route_class
from shop.platform.rest.serving import Serving


def rest_api(
    *,
    title: str,
    summary: str,
    description: str,
    tags: dict[str, str],
    incoming: Incoming,
    published: Mapping[type, Published],
) -> FastAPI:
    """Returns an application without routes; add the docs (`add_docs`) after them.

    Args:
        title: Name of the API.
        summary: Purpose of the API in a few words.
        description: What its users must know, in Markdown.
        tags: The groups of its routes, each with its description.
        incoming: Answers requests.
        published: How the schemas of the types that its routes answer with are published.
    """
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
        # `Serving` makes the spans; FastAPI's own would be a second SERVER span, with messages of exceptions in it.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        generate_unique_id_function=lambda route: route.name,
        middleware=[Middleware(Serving, incoming)],
        exception_handlers={
            RequestValidationError: answer_invalid_request,
            HTTPException: answer_http_error,
        },
    )
    api.state.published = published
    api.router.route_class = route_class(incoming.authenticator)
    return api
