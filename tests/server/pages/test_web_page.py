"""What a browser is served: the files, the policies that restrict them, and that the files keep to these."""

from __future__ import annotations

import gzip
import json
import re
from importlib.resources import files
from typing import Any

import pytest
import trio

from protocol.client_messages import LeaveRace, OpenRace, Resign
from protocol.forms import forms_document
from protocol.room_events import Result, Room
from protocol.server_messages import Left
from protocol.views import RaceOptions
from server.net.http import FILES_AT_ONCE, PAGES_AT_ONCE, Asked, NoPage, Site
from server.net.limits import AddressRates
from server.net.page_connection import PageConnection
from server.pages.documents import Documents
from server.pages.qr import qr_route
from server.pages.readers import Readers
from server.pages.web_page import FILES, FORMS, web_routes
from tests.server.net.wire import House

WEB = files("server.pages").joinpath("web")
BROWSER = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n"
SCRIPTS = sorted(name for name in FILES if name.endswith(".js"))


def content(name: str) -> bytes:
    return forms_document() if name == FORMS else WEB.joinpath(name).read_bytes()


async def test_whoever_comes_from_outside_is_told_that_two_people_or_up_to_eight_race(house: House) -> None:
    told = [(await house.ask("/", headers=headers)).body.decode() for headers in (BROWSER, "")]
    told.append(content("manifest.webmanifest").decode())
    sentence = re.compile("two people, or up to eight,", re.IGNORECASE)
    # Of the document: its two descriptions, and what is read without scripts.
    assert [len(sentence.findall(each)) for each in told] == [3, 1, 1]


async def test_every_address_has_a_document_that_says_what_it_is_about(house: House) -> None:
    async with house.race("<b>Ann", "Bob") as (ann, _):
        code = house.only_room.code
        race = (await ann.ask(Resign(race=1, seat=0), Result)).record.id
        titles = {
            "/": "Carpet Race",
            "/play": "Play · Carpet Race",
            f"/play/{code}": "Race &lt;b&gt;Ann against Bob · Carpet Race",
            "/watch/closest": "The closest race · Carpet Race",
            f"/watch/{code.lower()}": "&lt;b&gt;Ann against Bob · Carpet Race",
            f"/race/{race}": "&lt;b&gt;Ann against Bob · Carpet Race",
            "/player/bob": "Bob · Carpet Race",
            "/ladder": "Ladder · Carpet Race",
            "/search": "Search · Carpet Race",
            "/daily": "Deals of the day · Carpet Race",
            "/screen": "On a big screen · Carpet Race",
            "/challenges": "Challenges · Carpet Race",
            "/tournaments": "Tournaments · Carpet Race",
        }
        for target, title in titles.items():
            answered = await house.ask(target, headers=BROWSER)
            assert answered.status == 200, target
            assert answered.headers["content-type"] == "text/html; charset=utf-8"
            assert answered.headers["vary"] == "Accept"
            text = answered.body.decode()
            assert f"<title>{title}</title>" in text
            assert f'<meta property="og:title" content="{title}">' in text
            assert "$" not in text
        race_page = (await house.ask(f"/race/{race}", headers=BROWSER)).body.decode()
        assert "1. Bob with" in race_page


async def test_the_document_of_a_race_that_is_run_has_how_far_everybody_is(house: House) -> None:
    def first(text: str) -> Any:
        (found,) = re.findall(r'<script type="application/json" id="first">(.*)</script>', text)
        return json.loads(found)

    async with house.race("</script><!--", "Bob", rules="colorado") as (ann, _):
        code = house.only_room.code
        text = (await house.ask(f"/watch/{code}", headers=BROWSER)).body.decode()
        seats = [
            {"seat": 0, "name": "</script><!--", "bot": None, "home": ann.view.home},
            {"seat": 1, "name": "Bob", "bot": None, "home": ann.view.home},
        ]
        assert first(text) == {"seats": seats, "cards": 104}
        assert text.count("<script") == text.count("</script>") == 2
        assert "<!--" not in text
        home = (await house.ask("/", headers=BROWSER)).body.decode()
        assert {"id": "colorado", "name": "Colorado", "decks": 2} in first(home)["rules"]
        assert 'href="/races.json"' in home
        await ann.ask(Resign(race=1, seat=0), Result)
        assert 'id="first"' not in (await house.ask(f"/watch/{code}", headers=BROWSER)).body.decode()


async def test_a_title_names_three_players_at_most_and_tells_bots_apart(house: House) -> None:
    for name, bots, title in (
        ("Ann", ("greedy", "random"), "Ann against greedy (bot) against random (bot)"),
        ("Ben", ("greedy",) * 7, "Ben against greedy (bot) and 6 more"),
    ):
        async with house.guest(name) as ann:
            code = (await ann.ask(OpenRace(options=RaceOptions(seats=1 + len(bots), bots=bots)), Room)).code
            text = (await house.ask(f"/watch/{code}", headers=BROWSER)).body.decode()
            assert f"<title>{title} · Carpet Race</title>" in text
            await ann.ask(LeaveRace(), Left)


async def test_a_race_that_is_run_is_found_by_its_code_as_well(house: House) -> None:
    async with house.race("Ann", "Bob"):
        code = house.only_room.code
        answered = await house.ask(f"/race/{code.lower()}", headers=BROWSER)
        assert (answered.status, answered.headers["location"]) == (303, f"/watch/{code}")


@pytest.mark.parametrize("public", [True, False])
async def test_the_link_of_a_race_that_is_over_leads_to_it_for_ever(house: House, public: bool) -> None:
    async with house.race("Ann", "Bob", public=public) as (ann, bob):
        code = house.only_room.code
        race = (await ann.ask(Resign(race=1, seat=0), Result)).record.id
        for client in (ann, bob):
            await client.ask(LeaveRace(), Left)
    await trio.sleep(3600)
    for place in ("watch", "play", "race"):
        answered = await house.ask(f"/{place}/{code.lower()}", headers=BROWSER)
        assert (answered.status, answered.headers["location"]) == (303, f"/race/{race}")


@pytest.mark.parametrize(
    ("target", "place"),
    [
        ("/play/", "/play"),
        ("/daily/", "/daily"),
        ("/ladder/", "/ladder"),
        ("/tournaments//", "/tournaments"),
        ("/daily/2026-11-28/carpet/", "/daily/2026-11-28/carpet"),
        ("/play/?rules=colorado&challenge=KWPRTM", "/play?rules=colorado&challenge=KWPRTM"),
        ("/ladder.json/", "/ladder.json"),
        ("/races", "/"),
        ("/races/", "/races"),
    ],
)
async def test_an_address_with_a_slash_too_many_leads_to_what_is_there_without(house: House, target: str, place: str) -> None:
    answered = await house.ask(target, headers=BROWSER)
    assert (answered.status, answered.headers["location"]) == (303, place)


@pytest.mark.parametrize("target", ["/nothing/", "//", "//play/", "//example.com/", "/player/", "/watch//"])
async def test_a_slash_too_many_leads_nowhere_where_nothing_is(house: House, target: str) -> None:
    assert (await house.ask(target, headers=BROWSER)).status == 404


@pytest.mark.parametrize(
    "target",
    [
        "/watch/NOSUCH",
        "/play/NOSUCH",
        "/race/NOSUCH-1-00",
        "/race/x",
        "/race/NOSUCH",
        "/tournament/NOSUCH",
        "/player/Nobody",
        "/challenge/NOSUCH",
        "/nothing",
        "/watch/%3Cb%3E",
    ],
)
async def test_what_is_not_there_is_not_found_and_says_where_to_go(house: House, target: str) -> None:
    answered = await house.ask(target, headers=BROWSER)
    assert (answered.status, answered.headers["content-type"]) == (404, "text/html; charset=utf-8")
    text = answered.body.decode()
    assert "<h1>There is nothing here</h1>" in text
    assert "There is nothing here." not in text, "that would be the title once more"
    assert '<a href="/play">' in text
    assert "<script" not in text
    assert (await house.ask(target)).problem[0] == 404


async def test_whoever_asks_for_no_html_is_told_in_plain_text_what_this_is(house: House) -> None:
    for headers in ("", "Accept: */*\r\n", "Accept: application/json\r\n"):
        answered = await house.ask("/", headers=headers)
        assert answered.status == 200
        assert answered.headers["content-type"] == "text/plain; charset=utf-8"
        assert answered.headers["vary"] == "Accept"


@pytest.mark.parametrize("target", ["/", "/play", "/watch/closest", "/watch/NOSUCH", *(f"/web/{name}" for name in FILES)])
async def test_everything_is_guarded(house: House, target: str) -> None:
    headers = (await house.ask(target, headers=BROWSER)).headers
    policy = dict(part.partition(" ")[::2] for part in headers["content-security-policy"].split("; "))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self'",
        "manifest-src": "'self'",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"


async def test_a_document_lets_its_connection_go_to_the_other_servers_of_the_place(house: House) -> None:
    origins = ["https://n2.carpet.example", "http://[::1]:7", "http://10.0.0.4:7777"]
    site = Site(web_routes({}, origins=lambda: origins))
    house.site._routes = site._routes
    answered = await house.ask("/play", headers=BROWSER)
    assert "; connect-src 'self' ws://10.0.0.4:7777 wss://n2.carpet.example; " in answered.headers["content-security-policy"]
    known = f"If-None-Match: {answered.headers['etag']}\r\n{BROWSER}"
    assert (await house.ask("/play", headers=known)).status == 304
    # A browser that knows the document has to hear of a server that is new.
    origins.append("https://n4.carpet.example")
    again = await house.ask("/play", headers=known)
    assert again.status == 200
    assert "wss://n4.carpet.example" in again.headers["content-security-policy"]


async def test_the_link_of_a_race_at_another_server_of_the_place_opens(house: House) -> None:
    async def is_elsewhere(code: str) -> bool:
        await trio.lowlevel.checkpoint()
        return code == "FARAWY"

    readers = Readers(house.journal)
    documents = Documents(house.rooms, readers, house.runs, house.tournaments, house.clock, is_elsewhere=is_elsewhere, embeds=False)
    house.site._routes = Site(web_routes(documents.addresses))._routes
    assert (await house.ask("/play/far-awy", headers=BROWSER)).status == 200
    watched = await house.ask("/watch/farawy", headers=BROWSER)
    assert "<title>A race · Carpet Race</title>" in watched.body.decode()
    assert (await house.ask("/watch/NBDYSC", headers=BROWSER)).status == 404


@pytest.mark.parametrize(("name", "kind"), FILES.items())
async def test_a_file_is_sent_once_and_then_only_when_it_has_changed(house: House, name: str, kind: str) -> None:
    first = await house.ask(f"/web/{name}")
    assert (first.status, first.body) == (200, content(name))
    assert first.headers["content-type"] == kind
    assert first.headers["cache-control"] == "no-cache"
    tag = first.headers["etag"]
    assert re.fullmatch(r'"[0-9a-f]{32}"', tag)
    for known in (tag, f'"other", {tag}', f"W/{tag}", f'"other"\r\nIf-None-Match: {tag}'):
        again = await house.ask(f"/web/{name}", headers=f"If-None-Match: {known}\r\n")
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
        assert "content-length" not in again.headers
        assert again.headers["content-security-policy"] == first.headers["content-security-policy"]
    assert (await house.ask(f"/web/{name}", headers='If-None-Match: "other"\r\n')).body == first.body


async def test_a_document_names_what_it_needs_by_addresses_that_never_change(house: House) -> None:
    for target in ("/", "/play", "/watch/closest", "/ladder"):
        text = (await house.ask(target, headers=BROWSER)).body.decode()
        asked = set(re.findall(r'(?:src|href)="(/web/[^"]+)"', text))
        preloaded = set(re.findall(r'<link rel="modulepreload" href="/web/[^"/]+/([^"]+)">', text))
        for address in asked:
            answered = await house.ask(address, headers="Accept-Encoding: gzip\r\n")
            assert answered.status == 200
            assert answered.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert gzip.decompress(answered.body) == content(address.rpartition("/")[2])
        # Whatever a preloaded module imports is preloaded too: nothing is found out about late.
        for name in preloaded:
            source = WEB.joinpath(name).read_text(encoding="utf-8")
            assert set(re.findall(r'^import .* from "\./([^"]+)"', source, re.MULTILINE)) <= preloaded
        assert "app.js" in preloaded


async def test_an_address_of_the_page_is_drawn_as_a_qr_code_and_no_other() -> None:
    # By itself: the clock of a house jumps while a thread draws.
    show = qr_route().show
    for address in ("http://192.0.2.1:7777/play/KXQWZP", "https://carpet.example/tournament/KWPRTM", "http://[::1]:7777/"):
        drawn = await show(Asked({}, {"of": address}))
        assert drawn.content_type == "image/svg+xml; charset=utf-8"
        assert drawn.body.startswith(b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ')
    for address in ("", "javascript:alert(1)", "https://carpet.example/elsewhere", "https://carpet.example/play/a?b=c", "http://a@b/play"):
        with pytest.raises(NoPage) as refused:
            await show(Asked({}, {"of": address}))
        assert refused.value.status == 400


async def test_nothing_beside_the_files_is_served(house: House) -> None:
    for target in ("/web/", "/web/index.html", "/web/../app.py", "/web/%2e%2e/web_page.py", "/watch/", "/watch/a/b"):
        assert (await house.ask(target)).problem == (404, "There is nothing here.")


async def test_the_icon_is_where_browsers_look_for_that_of_a_document(house: House) -> None:
    found = await house.ask("/favicon.ico")
    assert (found.status, found.headers["content-type"]) == (200, "image/svg+xml; charset=utf-8")
    assert found.body == WEB.joinpath("icon.svg").read_bytes()


def test_every_file_is_served_and_asked_for() -> None:
    assert {entry.name for entry in WEB.iterdir()} | {FORMS} == {"index.html", "problem.html", *FILES}
    page = WEB.joinpath("index.html").read_text(encoding="utf-8")
    asked = set(re.findall(r'(?:src|href)="\$web/([^"]+)"', page))
    for name in SCRIPTS:
        asked |= set(re.findall(r'(?:from |import\(|URL\()"\./([^"]+)"', WEB.joinpath(name).read_text(encoding="utf-8")))
    assert asked == set(FILES)


@pytest.mark.parametrize("name", ["index.html", "problem.html", *FILES])
def test_the_files_need_nothing_from_elsewhere_and_parse_no_markup(name: str) -> None:
    text = content(name).decode()
    for forbidden in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "DOMParser",
        "srcdoc",
        "@import",
    ):
        assert forbidden not in text
    addresses = set(re.findall(r"\b(?:https?|wss?):?//[^\s\"'`)]*", text))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    if name == "index.html":
        assert re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL) == [""]
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", text)


@pytest.mark.slow
async def test_a_class_behind_one_address_may_open_the_page_in_the_same_second(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PageConnection, "remote_host", "192.0.2.1")
    # The clock jumps; at these rates no page more comes of it.
    monkeypatch.setattr(house.site, "_rates", AddressRates(rate=0.0001, burst=PAGES_AT_ONCE))
    monkeypatch.setattr(house.site, "_file_rates", AddressRates(rate=0.0001, burst=FILES_AT_ONCE))
    text = (await house.ask("/play", headers=BROWSER)).body.decode()
    asked = sorted(set(re.findall(r'(?:src|href)="(/web/[^"]+)"', text)))
    assert len(asked) > 20
    for _ in range(30):
        for target in ("/play", *asked):
            assert (await house.ask(target, headers=BROWSER)).status == 200
    # What is looked up for each who asks is still given out by the dozen alone.
    answered = [(await house.ask("/races.json")).status for _ in range(PAGES_AT_ONCE + 1)]
    assert answered == [200] * PAGES_AT_ONCE + [429]
    flood = [(await house.ask("/web/app.js")).status for _ in range(FILES_AT_ONCE)]
    assert set(flood) == {200, 429}
