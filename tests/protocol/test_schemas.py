"""The documents for people who write clients: valid by their own standards, and in agreement with the specification."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from openapi_spec_validator.validation.exceptions import OpenAPIValidationError

from protocol.record import Record, to_json
from protocol.room_events import Result
from protocol.schemas import NAMES, PAGES, SCHEMAS, make_document
from tests.protocol.specification import chapter, table
from tests.protocol.test_specification import MESSAGES, PAGE_SECTIONS, SECTIONS, example_of, tag


@pytest.fixture(scope="module")
def asyncapi() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(make_document("asyncapi")))
    return document


def test_the_pages_are_those_of_the_specification_with_their_statuses() -> None:
    _, rows = table(chapter("Over HTTP"))
    told = {re.sub(r"[A-Z]+", lambda name: f"{{{name.group().lower()}}}", row[0].strip("`")): row for row in rows}
    assert list(told) == list(PAGES)
    for address, (_, _, otherwise) in told.items():
        refused = {str(status.value) for status in PAGES[address].refused}
        assert refused == set(re.findall(r"\b\d{3}\b", told["/races/{id}.json"][2] if otherwise == "as above" else otherwise)), address
    names = next(row[1] for address, row in told.items() if address.startswith("/schemas/"))
    assert re.findall(r"`(\w+)`", names) == list(SCHEMAS)


def test_openapi_is_sound() -> None:
    document = json.loads(json.dumps(make_document("openapi")))
    validate(document)
    del document["paths"]["/races/{id}.json"]["get"]["parameters"]
    with pytest.raises(OpenAPIValidationError):
        validate(document)


def test_every_message_of_the_specification_fits_its_schema_and_a_part_of_it_does_not(asyncapi: dict[str, Any]) -> None:
    told = {
        action: [each["$ref"].rpartition("/")[2] for each in asyncapi["operations"][action]["messages"]] for action in ("receive", "send")
    }
    assert told["receive"] + told["send"] == list(asyncapi["channels"]["wire"]["messages"])
    assert set(told["receive"] + told["send"]) == {tag(message) for message in MESSAGES}
    for message in MESSAGES:
        payload = asyncapi["components"]["messages"][tag(message)]["payload"]
        schema = Draft202012Validator({**payload, "components": asyncapi["components"]})
        example = json.loads(SECTIONS[tag(message)].example or "")
        schema.validate(example)
        assert not schema.is_valid({**example, "type": "other"})
        assert schema.is_valid({**example, "added": 1})


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_document_has_a_schema(name: str) -> None:
    document = make_document(name)
    Draft202012Validator.check_schema(document)
    schema, kind = Draft202012Validator(document), SCHEMAS[name]
    if kind is Record:
        example = json.loads(to_json(example_of(Result).record))
    else:
        example = json.loads((PAGE_SECTIONS.get(kind.__name__) or SECTIONS[name]).example or "")
    schema.validate(example)
    assert not schema.is_valid([])


def test_there_is_no_document_of_another_name() -> None:
    with pytest.raises(KeyError):
        make_document("secret")
    assert len(NAMES) == len(set(NAMES))
