"""Documents for writers of clients, made from the message classes: AsyncAPI for the wire, OpenAPI for HTTP, and JSON Schemas.

They say what can be sent; the README.md beside this file says what it leads to. Only the list of pages is written by hand here.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, TypeAlias, get_args

import msgspec

from protocol import DEFAULT_PORT
from protocol.client_messages import ClientMessage
from protocol.codec import JSON, MAX_CLIENT_MESSAGE, MAX_SERVER_MESSAGE, SUBPROTOCOLS
from protocol.errors import ERRORS
from protocol.pages import (
    LADDER_PLAYERS,
    PAGE_RACES,
    SEARCH_CHARACTERS,
    Found,
    History,
    Ladder,
    Problem,
    RaceBoards,
    RaceReview,
)
from protocol.record import Record
from protocol.run_messages import Challenges, Dailies, Runs
from protocol.server_messages import Lobby, ServerMessage
from protocol.tournaments import TournamentDocument, TournamentsDocument

Document: TypeAlias = dict[str, Any]

TEXT: Final = "text/plain; charset=utf-8"
SVG: Final = "image/svg+xml; charset=utf-8"
CSV: Final = "text/csv; charset=utf-8"


@dataclass(frozen=True, slots=True)
class PageAddress:
    """What an HTTP address serves. answer: the document's class, or a text's content type. refused: statuses that not every page has."""

    summary: str
    answer: type | str
    refused: tuple[HTTPStatus, ...] = ()
    query: Mapping[str, Document] = field(default_factory=dict)


def _limit(most: int) -> Document:
    return {"type": "integer", "minimum": 1, "maximum": most, "default": 20}


_NOT_THERE: Final = (HTTPStatus.NOT_FOUND,)
_NOT_YET: Final = (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.GONE)

PAGES: Final[Mapping[str, PageAddress]] = {
    "/races/{id}.json": PageAddress("The record of a race that is over.", Record, _NOT_YET),
    "/races/{id}/boards.json": PageAddress("Every position of a race that is over.", RaceBoards, _NOT_YET),
    "/races/{id}/review.json": PageAddress("What was possible in a race that is over.", RaceReview, _NOT_YET),
    "/players/{name}/races.json": PageAddress(
        "The races of a player, newest first.",
        History,
        (*_NOT_THERE, HTTPStatus.BAD_REQUEST),
        {"limit": _limit(PAGE_RACES), "before": {"type": "string"}},
    ),
    "/races.json": PageAddress("Who is here, and which races can be joined or watched.", Lobby),
    "/ladder.json": PageAddress("The best players by rating.", Ladder, (HTTPStatus.BAD_REQUEST,), {"limit": _limit(LADDER_PLAYERS)}),
    "/search.json": PageAddress(
        "Players, races, tournaments and deals of the day.",
        Found,
        (HTTPStatus.BAD_REQUEST,),
        {"q": {"type": "string", "maxLength": SEARCH_CHARACTERS}, "rules": {"type": "string"}},
    ),
    "/daily.json": PageAddress("The deals of the day.", Dailies),
    "/daily/{date}/{rules}.json": PageAddress("The board of the deal of a day.", Runs, _NOT_THERE),
    "/challenges.json": PageAddress("The public challenges.", Challenges),
    "/challenges/{id}.json": PageAddress("The board of a challenge.", Runs, _NOT_THERE),
    "/tournaments.json": PageAddress("The public tournaments.", TournamentsDocument),
    "/tournaments/{id}.json": PageAddress("Everything about one tournament.", TournamentDocument, _NOT_THERE),
    "/tournaments/{id}.csv": PageAddress("The standings of a tournament, for a spreadsheet.", CSV, _NOT_THERE),
    "/oembed": PageAddress(
        "How to embed a page of this server in another page: oEmbed.",
        dict,
        (HTTPStatus.NOT_FOUND, HTTPStatus.NOT_IMPLEMENTED),
        {"url": {"type": "string"}, "maxwidth": {"type": "integer"}, "maxheight": {"type": "integer"}, "format": {"enum": ["json"]}},
    ),
    "/openapi.json": PageAddress("This document.", dict),
    "/asyncapi.json": PageAddress("The messages of the WebSocket at `/`, as AsyncAPI.", dict),
    "/schemas/{document}.json": PageAddress("The JSON Schema of a document.", dict, _NOT_THERE),
    "/qr.svg": PageAddress(
        "A QR code of a page of this server.", SVG, (HTTPStatus.BAD_REQUEST,), query={"of": {"type": "string", "format": "uri"}}
    ),
    "/healthz": PageAddress("`ok`: the server is alive.", TEXT),
    "/readyz": PageAddress("`ready`: the server can take players, and its store works.", TEXT, (HTTPStatus.SERVICE_UNAVAILABLE,)),
}
"""The pages by address, in the order of the specification."""

SCHEMAS: Final[Mapping[str, type]] = {
    "record": Record,
    "boards": RaceBoards,
    "review": RaceReview,
    "history": History,
    "lobby": Lobby,
    "ladder": Ladder,
    "found": Found,
    "dailies": Dailies,
    "challenges": Challenges,
    "runs": Runs,
    "tournaments": TournamentsDocument,
    "tournament": TournamentDocument,
    "problem": Problem,
}
"""The documents that have their own JSON Schema, by its name."""

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_SPECIFICATION: Final = (
    "What each message leads to is in protocol/README.md of carpet-race. Fields may be added: ignore those you do not know."
)


def make_document(name: str) -> Document:
    """The document with this name: `asyncapi`, `openapi`, or one of `SCHEMAS`. Raises KeyError."""
    match name:
        case "asyncapi":
            return _asyncapi()
        case "openapi":
            return _openapi()
    schema = msgspec.json.schema(SCHEMAS[name])
    return {"$schema": _DIALECT, **schema, "$defs": _told(schema["$defs"])}


NAMES: Final = ("asyncapi", "openapi", *SCHEMAS)


def _openapi() -> Document:
    refused: Document = {"description": "Why there is no such document.", "content": _json(Problem)}
    return {
        "openapi": "3.1.1",
        "info": {
            "title": "Carpet Race over HTTP",
            "version": "1",
            "description": f"Public and read-only. {_SPECIFICATION}",
        },
        "servers": [{"url": "/"}],
        "paths": {path: {"get": _operation(path, page)} for path, page in PAGES.items()},
        "components": {"schemas": _components(SCHEMAS.values()), "responses": {"Problem": refused}},
    }


def _operation(path: str, page: PageAddress) -> Document:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", **({"enum": [*SCHEMAS]} if name == "document" else {})}}
        for name in re.findall(r"{(\w+)}", path)
    ]
    in_query = [{"name": name, "in": "query", "schema": schema} for name, schema in page.query.items()]
    content = _json(page.answer) if isinstance(page.answer, type) else {page.answer: {"schema": {"type": "string"}}}
    statuses = {str(status.value) for status in page.refused} | ({"400"} if in_query else set())
    refused = {status: {"$ref": "#/components/responses/Problem"} for status in (*sorted(statuses), "default")}
    return {
        "operationId": "-".join(re.findall(r"\w+", path)),
        "summary": page.summary,
        "parameters": [*in_path, *in_query],
        "responses": {"200": {"description": page.summary, "content": content}, **refused},
    }


def _json(kind: type) -> Document:
    schema = {"type": "object"} if kind is dict else {"$ref": f"#/components/schemas/{kind.__name__}"}
    return {"application/json": {"schema": schema}}


def _asyncapi() -> Document:
    directions = {"receive": get_args(ClientMessage), "send": get_args(ServerMessage)}
    messages = [message for kinds in directions.values() for message in kinds]
    schemas = _components(messages)
    # Examples rather than an enum: a newer server may have other codes.
    schemas["Error"]["properties"]["code"]["examples"] = [str(code) for code in ERRORS]
    # In OpenAPI the discriminator is a map, in AsyncAPI the field's name.
    schemas["WatchedEvent"]["properties"]["event"]["discriminator"] = "type"
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Carpet Race",
            "version": "1",
            "description": f"One WebSocket, one message a frame, as MessagePack or JSON: {', '.join(SUBPROTOCOLS)}. "
            f"At most {MAX_CLIENT_MESSAGE} bytes from a client and {MAX_SERVER_MESSAGE} from a server. {_SPECIFICATION}",
        },
        "defaultContentType": "application/json",
        "servers": {"default": {"host": f"localhost:{DEFAULT_PORT}", "protocol": "ws"}},
        "channels": {
            "wire": {
                "address": "/",
                "messages": {_tag(message): {"$ref": f"#/components/messages/{_tag(message)}"} for message in messages},
                "bindings": {
                    "ws": {
                        "headers": {"type": "object", "properties": {"Sec-WebSocket-Protocol": {"enum": [*SUBPROTOCOLS], "default": JSON}}}
                    }
                },
            }
        },
        "operations": {
            action: {
                "action": action,
                "channel": {"$ref": "#/channels/wire"},
                "messages": [{"$ref": f"#/channels/wire/messages/{_tag(kind)}"} for kind in kinds],
            }
            for action, kinds in directions.items()
        },
        "components": {
            "schemas": schemas,
            "messages": {
                _tag(kind): {
                    "name": _tag(kind),
                    "summary": schemas[kind.__name__]["description"].partition("\n")[0],
                    "payload": {"$ref": f"#/components/schemas/{kind.__name__}"},
                }
                for kind in messages
            },
        },
    }


def _tag(message: type) -> str:
    return str(msgspec.inspect.type_info(message).tag)  # type: ignore[attr-defined]


def _components(kinds: Iterable[type]) -> Document:
    return _told(msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")[1])


def _told(schemas: Document) -> Document:
    """The schemas with descriptions as text for people: the docstrings without their indentation."""
    return {name: {**schema, "description": inspect.cleandoc(schema["description"])} for name, schema in schemas.items()}
