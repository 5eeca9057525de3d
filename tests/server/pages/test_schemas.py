"""OpenAPI and the schemas, against a server's answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio
from jsonschema import Draft202012Validator

from protocol.client_messages import Resign
from protocol.room_events import Result
from protocol.run_messages import Challenge as ChallengeMade
from protocol.run_messages import OpenChallenge
from protocol.schemas import NAMES, PAGES
from protocol.tournament_messages import CreateTournament, Decided
from protocol.tournaments import TournamentOptions
from server.pages.schema_documents import make_documents
from tests.server.net.wire import House


async def test_what_a_server_answers_is_what_openapi_says(house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, _):
        record = (await ann.ask(Resign(race=1, seat=0), Result)).record
        challenge = (await ann.ask(OpenChallenge(nonce="00" * 16), ChallengeMade)).challenge.id
        tournament = (await ann.ask(CreateTournament(options=TournamentOptions(name="Cup", format="swiss", rules="carpet")), Decided)).id
    openapi = json.loads((await house.ask("/openapi.json")).body)
    (*_, day) = json.loads((await house.ask("/daily.json")).body)["days"]
    values = {"name": "Ann", "date": day["date"], "rules": "carpet", "document": "record"}
    ids = {"races": record.id, "challenges": challenge, "tournaments": tournament}
    assert list(openapi["paths"]) == list(PAGES)

    def check(path: str, status: str, answered: Any) -> None:
        told = openapi["paths"][path]["get"]["responses"]
        response = told.get(status) or told["default"]
        if "$ref" in response:
            response = openapi["components"]["responses"]["Problem"]
        kind = answered.headers["content-type"]
        content = response["content"].get(kind) or response["content"][kind.partition(";")[0]]
        if kind.startswith("application/json"):
            Draft202012Validator({**content["schema"], "components": openapi["components"]}).validate(json.loads(answered.body))

    for path in PAGES:
        target = path.format(**values, id=ids.get(path.split("/")[1], ""))
        if path == "/qr.svg":
            # It is drawn in a thread, for which the clock that jumps does not wait.
            continue
        target += "?url=http://carpet.test/ladder" if path == "/oembed" else ""
        answered = await house.ask(target)
        assert answered.status == 200, (target, answered.body)
        check(path, "200", answered)
        if "{" in path:
            missing = await house.ask(path.format(name="Nobody", date="1999-01-01", rules="none", document="none", id="NOSUCH"))
            assert missing.status == 404
            assert "404" in openapi["paths"][path]["get"]["responses"]
            check(path, "404", missing)
    bad = await house.ask("/ladder.json?limit=0")
    assert bad.status == 400
    check("/ladder.json", "400", bad)


async def test_the_documents_are_made_once_and_by_a_worker(house: House) -> None:
    async with trio.open_nursery() as nursery:
        for name in ("/openapi.json", "/asyncapi.json", "/schemas/record.json"):
            nursery.start_soon(house.ask, name)
    assert house.computed == [make_documents]


@pytest.mark.parametrize("name", ["openapi", "none"])
async def test_only_documents_have_a_schema(house: House, name: str) -> None:
    answered = await house.ask(f"/schemas/{name}.json")
    assert answered.status == 404
    assert set(NAMES) - {"openapi", "asyncapi"} <= set(json.loads(answered.body)["error"].replace(",", " ").replace(".", " ").split())
