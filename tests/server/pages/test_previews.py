"""What other sites show for a link: pictures, oEmbed, and embedded races."""

from __future__ import annotations

import json
import re
import struct
from html import unescape
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import pytest
import trio

from protocol.client_messages import LeaveRace, Resign
from protocol.room_events import Result
from protocol.server_messages import Left
from server.net.http import Site
from server.pages.documents import Documents
from server.pages.pictures import Curve, draw, to_png
from server.pages.previews import preview_routes
from server.pages.readers import Readers
from server.pages.web_page import ALWAYS, known, web_routes
from tests.server.net.wire import House, received_by

BROWSER = "Accept: text/html\r\n"
SVG = "{http://www.w3.org/2000/svg}"


async def finished_race(house: House) -> tuple[str, str]:
    """The code of a room that is gone and the id of its race."""
    async with house.race("<b>Ann", "Bob") as (ann, bob):
        code = house.only_room.code
        race = (await ann.ask(Resign(race=1, seat=0), Result)).record.id
        for client in (ann, bob):
            await client.ask(LeaveRace(), Left)
    await trio.sleep(3600)
    return code, race


def let_embed(house: House, *embedders: str) -> None:
    readers = Readers(house.journal)
    documents = Documents(house.rooms, readers, house.runs, house.tournaments, house.clock, is_elsewhere=None, embeds=True).addresses
    previews = preview_routes({**known(), **documents}, readers, house._compute, embeds=True)
    house.site._routes = Site((*web_routes(documents, embedders=embedders), *previews))._routes


def property_of(document: str, name: str) -> str:
    (found,) = re.findall(rf'<meta property="og:{name}" content="([^"]*)">', document)
    return unescape(found)


async def test_every_address_has_a_picture_of_its_own(house: House) -> None:
    _, race = await finished_race(house)
    pictures = set()
    for target in (*ALWAYS, f"/race/{race}", "/player/bob"):
        document = (await house.ask(target, headers=BROWSER)).body.decode()
        assert property_of(document, "url") == f"http://carpet.test{target}"
        address = urlsplit(property_of(document, "image"))
        assert (address.scheme, address.netloc) == ("http", "carpet.test")
        answered = await house.ask(address.path.replace(".png", ".svg"))
        assert answered.status == 200, (target, answered.body)
        assert answered.headers["content-type"] == "image/svg+xml; charset=utf-8"
        assert "default-src 'none'" in answered.headers["content-security-policy"]
        known_tag = f"If-None-Match: {answered.headers['etag']}\r\n"
        assert (await house.ask(address.path.replace(".png", ".svg"), headers=known_tag)).status == 304
        pictures.add(answered.body)
    assert len(pictures) == len(ALWAYS) + 2
    assert (await house.ask("/race/NOSUCH-1-00/picture.svg")).status == 404
    of_race = next(picture.decode() for picture in pictures if b"Ann against Bob" in picture)
    assert "&lt;b&gt;Ann against Bob" in of_race
    texts = [text.text for text in ET.fromstring(of_race).iter(f"{SVG}text")]
    assert texts[1:2] + texts[-4:] == ["<b>Ann against Bob", "1. Bob", "4 cards home", "2. <b>Ann", "4 cards home"]


async def test_the_picture_of_a_race_that_is_being_run_has_the_curves_that_watchers_are_told(house: House) -> None:
    async with house.race("Ann", "Bob") as (_, bob):
        code = house.only_room.code

        async def drawn() -> tuple[list[str], list[str]]:
            picture = ET.fromstring((await house.ask(f"/watch/{code}/picture.svg")).body)
            lines = [path.get("d", "") for path in picture.iter(f"{SVG}path") if path.get("stroke-width") == "6"]
            return [text.text or "" for text in picture.iter(f"{SVG}text")][-4:], lines

        before = await drawn()
        assert before[0] == ["Ann", "4 cards home", "Bob", "4 cards home"]
        home = 4
        while home == 4:
            home = (await bob.play(next((move for move in bob.view.moves if move not in ("s", "r")), "s"))).view.home
        after = await drawn()
        # The one who leads comes first.
        assert after[0] == ["Bob", f"{home} cards home", "Ann", "4 cards home"]
        assert [line.count("V") for line in after[1]] == [1, 0]
        # A document has no use for them.
        assert "curve" not in (await house.ask(f"/watch/{code}", headers=BROWSER)).body.decode()


async def test_a_picture_as_png_is_made_once_and_by_a_worker(house: House) -> None:
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(house.ask, "/ladder/picture.png")
    answered = await house.ask("/ladder/picture.png")
    assert answered.headers["content-type"] == "image/png"
    assert answered.body[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", answered.body[16:24]) == (1200, 630)
    assert house.computed == [to_png]


def test_no_name_breaks_a_picture() -> None:
    names = ["</text><script>", "\x1b[31m\x00\ufffe", "名" * 24, "&" * 24, "W" * 24, "عربي", "", "x"]
    curves = [Curve(1 + number, name, number, ((0, 0), (900, number)), 1000) for number, name in enumerate(names)]
    drawn = ET.fromstring(draw(" against ".join(names), "", curves))
    assert not list(drawn.iter(f"{SVG}script"))
    for text in drawn.iter(f"{SVG}text"):
        assert (text.text or "").isprintable()
    assert ET.fromstring(draw("x" * 500, "word " * 200)) is not None


def test_a_curve_rises_by_the_cards_that_came_home() -> None:
    drawn = ET.fromstring(draw("", "", [Curve(1, "Ann", 13, ((0, 0), (500, 6), (1000, 13)), 2000)]))
    (curve,) = (path.get("d") for path in drawn.iter(f"{SVG}path") if path.get("stroke-width") == "6")
    # From the corner below on the left, half the height up at half the way.
    assert curve == "M560 560.0H705.0V493.1H850.0V415.0H1140.0"


async def test_the_host_s_own_address_is_told_as_it_was_asked_for_and_no_other(house: House) -> None:
    async def told(headers: str) -> list[str]:
        async with house.listener.dial() as stream:
            await stream.send_all(f"GET / HTTP/1.1\r\n{headers}{BROWSER}\r\n".encode())
            return re.findall(r'og:url" content="([^"]*)"', (await received_by(stream)).decode())

    assert await told("Host: Races.example:7777\r\n") == ["http://races.example:7777/"]
    assert await told("Host: races.example\r\nX-Forwarded-Proto: https\r\n") == ["https://races.example/"]
    assert await told('Host: "><script>\r\n') == []
    assert await told("Host: a/b\r\n") == []


# ---- in pages of others


async def test_no_page_of_others_shows_a_race_unless_the_host_lets_it(house: House) -> None:
    unseen = await house.ask("/embed/closest", headers=BROWSER)
    assert unseen.status == 404
    assert "its host can allow it with --embed-in" in unseen.body.decode()
    told = json.loads((await house.ask("/oembed?url=http://carpet.test/watch/closest")).body)
    assert (told["type"], told["title"], told.get("html")) == ("link", "The closest race · Carpet Race", None)


async def test_origins_that_the_host_has_named_may_show_races_and_nothing_else(house: House) -> None:
    code, race = await finished_race(house)
    let_embed(house, "https://a.example", "https://*.b.example")
    for target in ("/embed/closest", f"/embed/{race}"):
        policy = (await house.ask(target, headers=BROWSER)).headers["content-security-policy"]
        assert "; frame-ancestors https://a.example https://*.b.example; " in policy
    for target in ("/", "/play", f"/race/{race}", "/web/app.js"):
        assert "; frame-ancestors 'none'; " in (await house.ask(target, headers=BROWSER)).headers["content-security-policy"]
    moved = await house.ask(f"/embed/{code}", headers=BROWSER)
    assert (moved.status, moved.headers["location"]) == (303, f"/embed/{race}")


async def test_oembed_gives_a_frame_for_a_race(house: House) -> None:
    _, race = await finished_race(house)
    let_embed(house, "*")
    document = (await house.ask(f"/race/{race}", headers=BROWSER)).body.decode()
    (asking,) = re.findall(r'type="application/json\+oembed" href="([^"]*)"', document)
    told = json.loads((await house.ask(unescape(asking).removeprefix("http://carpet.test"))).body)
    assert (told["version"], told["type"], told["width"], told["height"]) == ("1.0", "rich", 720, 640)
    assert f'src="http://carpet.test/embed/{race}"' in told["html"]
    assert 'title="&lt;b&gt;Ann against Bob' in told["html"]
    small = json.loads((await house.ask(f"/oembed?maxwidth=300&maxheight=9999&url=http://carpet.test/race/{race}")).body)
    assert (small["width"], small["height"]) == (300, 640)
    assert json.loads((await house.ask("/oembed?url=http://carpet.test/ladder")).body)["type"] == "link"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 404),
        ("?url=http://elsewhere.example/ladder", 404),
        ("?url=http://carpet.test/nothing", 404),
        ("?url=http://carpet.test/player/Nobody", 404),
        ("?url=//[", 404),
        ("?url=http://carpet.test/ladder&format=xml", 501),
        ("?url=http://carpet.test/watch/closest&maxwidth=wide", 400),
    ],
)
async def test_what_cannot_be_embedded_is_refused(house: House, query: str, status: int) -> None:
    let_embed(house, "*")
    assert (await house.ask(f"/oembed{query}")).status == status
