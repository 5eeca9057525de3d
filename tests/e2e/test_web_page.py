"""The web page in a real Chromium: what it shows of running races, and to whom, how it looks, and what it lets nobody do.

No test sleeps: each waits for what the page should show. A test that something is hidden uses a delay of ten minutes.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys
from typer.testing import CliRunner

from protocol.cards import RANKS
from server.cli.commands import app
from tests.e2e.browser import Browser, page
from tests.e2e.commands import serving
from tests.e2e.page_checks import CONTRAST, OVERFLOW, UNNAMED
from tests.e2e.peer import Racer, sitting

pytestmark = pytest.mark.slow

HOSTILE = "<img src=x onerror=alert"  # as much of it as a name may have
LONG = "W" * 24
SUITS = {"S": "spades", "H": "hearts", "D": "diamonds", "C": "clubs"}
NAMES = {"A": "ace", "T": "10", "J": "jack", "Q": "queen", "K": "king"}
NEVER_S = 600


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    # Not in a hurry: a race would begin before it is in the list of races, which may be a second old.
    with serving(hurry=1, rate=1000, burst=1000) as url:
        yield url


@contextmanager
def race(url: str, one: str = "Ada", other: str = "Zoë", **options: Any) -> Iterator[tuple[Racer, Racer]]:
    """A race that has started. Names are unique on a server, so numbers may be put behind these."""
    with sitting(url, one, countdown_s=1, **options) as ada, sitting(url, other, code=ada.code) as zoe:
        for player in (ada, zoe):
            player.ready()
        for player in (ada, zoe):
            player.start()
        yield ada, zoe


def get_ahead(one: Racer, other: Racer) -> None:
    """Have one bring home more than the other has: on any deal, which after a dozen moves may still have brought none."""
    while one.home <= other.home:
        one.play()


def spoken(card: str) -> str:
    return f"{NAMES.get(card[0], card[0])} of {SUITS[card[1]]}"


def home(player: Racer) -> str:
    """What is to be said of their bar."""
    return f"{player.home} of 52 cards home"


def meters(browser: Browser, inside: str = "main") -> list[tuple[str, str]]:
    """Of each bar its label and its text."""
    script = "return [...document.querySelectorAll(given[0])].map((bar) => [bar.ariaLabel, bar.ariaValueText])"
    return [(label, text) for label, text in browser.run(script, f"{inside} .meter")]


# ---- the list of races


def test_what_the_host_says_stands_on_the_page_until_it_is_hidden(browser: Browser, tmp_path: Path) -> None:
    with serving(admin_socket=str(tmp_path / "admin")) as url:
        browser.open(page(url))
        browser.wait_for_text(".summary", "0 players here.")
        said = CliRunner().invoke(app, ["admin", "say", "We restart at <b>eight</b>.", "--socket", str(tmp_path / "admin")])
        assert said.stdout == "said to all connections, 1: We restart at <b>eight</b>.\n"
        browser.wait_for_text("#notice", "(We restart at <b>eight</b>.)")
        browser.press("Hide", "#notice")
        assert browser.text("#notice") == ""
        assert not browser.complaints()


def test_the_lobby_is_live(browser: Browser, server: str) -> None:
    browser.open(page(server))
    browser.wait_for_text(".summary", "0 races running, 0 open, 0 players here.")
    with race(server) as (ada, zoe), sitting(server, "Grace", rules="crazy-quilt") as grace:
        browser.wait_for_text(".summary", "1 race running, 1 open, 3 players here.")
        assert browser.text(".races h3 a") == f"{ada.name} against {zoe.name}"
        assert browser.all(".races h3 a")[0].href == page(server, f"/watch/{ada.code}")
        assert browser.text(".here") == f"{ada.name}, {zoe.name}, {grace.name}"
        assert browser.text(".open h3") == f"{grace.name} (1 open seat)"
        assert browser.text(".open .facts").startswith("Crazy Quilt · 2 seats")
        assert browser.text(".open code") == f"carpet join {server} {grace.code}"
        get_ahead(ada, zoe)
        browser.wait(lambda: meters(browser) == [(ada.name, home(ada)), (zoe.name, home(zoe))], "Ada's cards")
        assert not any(badge.shown for badge in browser.all(".badge"))
        with race(server, "Barbara", "Donald") as closest_two:
            for player in closest_two:
                player.play(3)
            browser.wait(lambda: len(browser.all(".races li")) == 2, "the other race")
            closest = " against ".join(each.name for each in closest_two)
            browser.wait(lambda: [each.text for each in browser.all(".races .closest h3 a")] == [closest], "the closest race")
            assert [badge.shown for badge in browser.all(".badge")] == [True, False]
        for player in (ada, zoe):
            player.stop()
        browser.wait_for_text(".summary", "0 races running")


def test_a_command_can_be_copied_by_keys(browser: Browser, server: str) -> None:
    with sitting(server, "Grace") as grace:
        browser.open(page(server))
        # The race of an earlier test may stand there a moment longer, and goes.
        of_grace = f"[aria-label='Copy the command that joins race {grace.code}']"
        browser.wait(lambda: len(browser.all(of_grace)) == 1, "the button")
        # The answer is there for some seconds, which may go by unseen.
        browser.run(
            """
            window.answers = [];
            const button = document.querySelector(given[0]);
            new MutationObserver(() => answers.push(button.textContent)).observe(button, {childList: true});
            """,
            of_grace,
        )
        browser.type(of_grace, Keys.ENTER)
        browser.wait(lambda: browser.run("return answers"), "the button's answer")
        answer = browser.run("return answers[0]")
        assert answer in ("Copied", "Selected")
        if answer == "Selected":
            assert browser.run("return String(getSelection())") == f"carpet join {server} {grace.code}"


# ---- a race


def test_bars_move_at_once_and_boards_stay_hidden_until_the_result(browser: Browser, server: str) -> None:
    with race(server, delay_s=NEVER_S) as (ada, zoe):
        browser.open(page(server, f"/watch/{ada.code.lower()}"))
        browser.wait_for_text("h1", f"{ada.name} against {zoe.name}")
        browser.run("""
            window.spoken = [];
            new MutationObserver(() => spoken.push(performance.now())).observe(document.getElementById("news"), {childList: true});
        """)
        assert browser.text(".notice") == "Boards are shown 600 seconds late. The bars are not."
        for player, moves in ((ada, 6), (zoe, 3), (ada, 6)):
            player.play(moves)
            browser.wait(lambda: meters(browser) == [(each.name, home(each)) for each in (ada, zoe)], "the bars")
        browser.wait(lambda: [each.text for each in browser.all(".bar .moves")] == ["12 moves", "3 moves"], "the moves")
        assert [each.text for each in browser.all(".waiting")] == ["The first cards are shown 600 seconds after the start."] * 2
        assert {*cells(browser, 0), *cells(browser, 1)} == {""}
        assert not browser.all(".race > section")[0].shown
        for player in (ada, zoe):
            player.stop()
        record = ada.hear_of("result")["record"]
        browser.wait_for_text(".places", zoe.name)
        order = sorted(record["seats"], key=lambda seat: seat["place"])
        assert [each.text.split(":")[0] for each in browser.all(".places li")] == [seat["name"] for seat in order]
        assert f"{order[0]['home']} cards home" in browser.text(".places li")
        browser.wait(lambda: [each.text for each in browser.all(".waiting")] == ["", ""], "the boards")
        assert cells(browser, 0) == cards(ada)
        assert cells(browser, 1) == cards(zoe)
        assert len(browser.all(".plot .curve")) == 2
        with urllib.request.urlopen(str(browser.all(".checked a")[1].href)) as answered:
            assert json.load(answered) == record
        browser.wait_for_text("#news", "The race is over. 1. ")
        times = browser.run("return window.spoken")
        assert all(later - earlier > 3900 for earlier, later in pairwise(times))


def cells(browser: Browser, seat: int) -> list[str]:
    """What is said of each slot of a seat's board."""
    script = """
        const board = document.querySelectorAll(".seat-board")[given[0]];
        return [...board.querySelectorAll("td .unseen")].map((each) => each.textContent);
    """
    return list(browser.run(script, seat))


def cards(player: Racer) -> list[str]:
    """What is to be said of each of their slots."""
    pending = player.view["pending"]
    return [spoken(pile[-1]) if pile else "gap to be filled" if slot == pending else "gap" for slot, pile in player.view["piles"].items()]


def test_boards_come_while_the_race_is_run_as_late_as_it_says(browser: Browser, server: str) -> None:
    with race(server, delay_s=1, rated=False) as (ada, zoe):
        browser.open(page(server, f"/watch/{ada.code}"))
        ada.play(5)
        zoe.play(2)
        browser.wait_for_text(".seat-board .when", "5 moves")
        browser.wait(lambda: cells(browser, 1) == cards(zoe), "Zoë's board")
        # On one shuffle she makes the same moves: only now has she seen all the cards that lie open on Ada's.
        zoe.play(3)
        browser.wait(lambda: cells(browser, 0) == cards(ada) == cells(browser, 1), "both boards")
        assert browser.all(".clock")[0].text.endswith("/ 10:00")
        headers = [cell.text for cell in browser.all(".seat-board th")]
        assert headers[:9] == [*"abcde", *"1234"]
        stock, waste = ada.view["stock"], ada.view["waste"]
        said = browser.run(
            "return [...document.querySelector('.piles').querySelectorAll('.unseen, .note')].map((each) => each.textContent)"
        )
        assert said == ["", f"Stock {stock}", spoken(waste[-1]) if waste else "no card", f"Waste {len(waste)}"]


def test_of_the_first_race_of_a_swap_no_board_is_promised(browser: Browser, server: str) -> None:
    with race(server, series={"format": "swap", "races": 2}) as (ada, zoe):
        browser.open(page(server, f"/watch/{ada.code}"))
        browser.wait_for_text(".waiting", "No board is shown of the first race of a swap.")
        assert not browser.all(".notice")[0].shown
        for player in (ada, zoe):
            player.stop()
        browser.wait_for_text(".waiting", "No cards before the start.")
        browser.wait_for_text(".notice", "Boards are shown 10 seconds late.")


def points(browser: Browser, seat: int) -> list[tuple[float, float]]:
    """Where the line of a seat's curve turns."""
    drawn = browser.run("return document.querySelector(given[0]).getAttribute('d')", f".plot .curve.seat-{seat}")
    start, *steps = str(drawn).replace("M", "").split(" H")
    corners = [tuple(map(float, start.split()))]
    for step in steps:
        x, _, y = step.partition(" V")
        corners.append((float(x), float(y) if y else corners[-1][1]))
    return corners  # type: ignore[return-value]


def test_a_series_shows_its_score_the_race_before_and_its_ratings(browser: Browser, server: str) -> None:
    with race(server, series={"format": "best-of", "races": 3}) as (ada, zoe):
        browser.open(page(server, f"/watch/{ada.code}"))
        browser.wait_for_text(".series", "Best of 3. Race 1 is being run.")
        assert not browser.all(".score")[0].shown
        # Nobody's rating moves by a race that only one of them has raced.
        zoe.play(1)
        get_ahead(ada, zoe)
        for player in (ada, zoe):
            player.stop()
        record = ada.hear_of("result")["record"]
        ratings = ada.hear_of("ratings")["seats"]
        browser.wait_for_text(".series", f"Best of 3: {ada.name} 1 : 0 {zoe.name}. Race 2 is next.")
        assert browser.text("#result") == "Result of the race before"
        changes = [f"rating {seat['before']} → {seat['after']} ({seat['after'] - seat['before']:+})".replace("-", "−") for seat in ratings]
        browser.wait(lambda: [each.text.rpartition(" · ")[2] for each in browser.all(".places li")] == changes, "the ratings")
        rows = [[each.text for each in browser.all(f".score tbody tr:nth-child({row}) :is(th, td)")] for row in (1, 2)]
        assert len(browser.all(".score tbody tr")) == 2
        assert rows == [[player.name, str(1 - at), str(record["seats"][at]["home"]), str(at + 1)] for at, player in enumerate((ada, zoe))]
        assert len(browser.all(".plot .curve")) == 2
        links = [page(server, f"/race/{record['id']}"), page(server, f"/races/{record['id']}.json")]
        assert [each.href for each in browser.all(".checked a")] == links
        for scheme in ("light", "dark"):
            for width in (320, 360, 1280):
                browser.look(width=width, scheme=scheme)
                assert browser.run(OVERFLOW) == [0, []], width
            assert browser.run(CONTRAST)[1] == [], scheme
        # A new page knows the score; the race before is in nobody's snapshot.
        browser.open(page(server, f"/watch/{ada.code}"))
        browser.wait_for_text(".series", f"Best of 3: {ada.name} 1 : 0 {zoe.name}. Race 2 is next.")
        for player in (ada, zoe):
            player.send("ready", race=2, nonce="00" * 16)
        for player in (ada, zoe):
            player.start()
        browser.wait_for_text(".series", "Race 2 is being run.")
        assert not browser.all("#result")[0].shown


def test_a_replay_goes_on_by_keys_after_a_button_was_pressed(browser: Browser, server: str) -> None:
    with race(server) as (ada, zoe):
        ada.play(3)
        for player in (ada, zoe):
            player.stop()
        record = ada.hear_of("result")["record"]
    browser.open(page(server, f"/race/{record['id']}"))
    browser.wait_for_text(".said-move", "Move ")
    browser.press("Start")
    browser.wait_for_text(".said-move", "The deal, before 3 moves.")
    on = f".controls .actions button:nth-of-type({[each.text for each in browser.all('.controls .actions button')].index('Next') + 1})"
    browser.click(on)
    browser.wait_for_text(".said-move", "Move 1 of 3")
    browser.type(on, Keys.ARROW_RIGHT)
    browser.wait_for_text(".said-move", "Move 2 of 3")
    # The space bar is the button's own.
    browser.type(on, " ")
    browser.wait_for_text(".said-move", "Move 3 of 3")


def test_whoever_comes_late_is_shown_the_whole_curves(browser: Browser, server: str) -> None:
    with race(server, rules="colorado") as (ada, _):
        homes = [ada.home]
        while len(homes) <= 3:
            ada.play()
            homes += [ada.home] if ada.home != homes[-1] else []
        browser.open(page(server, f"/watch/{ada.code}"))
        browser.wait(lambda: browser.all(".plot .curve.seat-0"), "the curve")
        corners = points(browser, 0)
        heights = [y for _, y in corners[:-1]]
        assert corners[0][0] == 34, "at the left edge"
        assert len(heights) == len(homes)
        assert all(later < earlier for earlier, later in pairwise(heights))


def test_a_new_snapshot_keeps_curves_and_the_race_before(browser: Browser, server: str) -> None:
    with race(server) as (ada, _):
        browser.open(page(server))
        script = """
            const [room] = given;
            const { WatchedRace } = await import("/web/model.js");
            const curves = [{ at_ms: [0, 1000, 3000], home: [4, 5, 6] }, { at_ms: [0], home: [4] }];
            const racing = { ...room, phase: "racing", elapsed_ms: 5000, race: 1, record: null };
            const watched = (more) => ({ room: racing, boards: [], watchers: 1, lines: [], closest: false, curves, ...more });
            const first = new WatchedRace(watched(), 0);
            const again = new WatchedRace(watched(), 0, first);
            const seats = room.seats.map((seat) => ({ ...seat, state: "stopped", home: 6, plies: 3, ended_at_ms: 9000, place: 1 }));
            first.apply({ type: "result", version: first.version + 1, record: { seats, moves: [], ended_at_ms: 9000 } }, 0);
            const next = { ...room, race: 2, phase: "waiting", version: first.version + 1 };
            first.apply({ type: "room", ...next }, 0);
            const resynchronised = new WatchedRace(watched({ room: next, curves: [] }), 0, first);
            resynchronised.apply({ type: "ratings", version: resynchronised.version + 1, seats: [{ before: 1, after: 2 }] }, 0);
            const elsewhere = new WatchedRace(watched({ room: { ...next, code: "OTHERS" } }), 0, first);
            const { finished } = resynchronised;
            resynchronised.apply({ type: "started", version: resynchronised.version + 1 }, 0);
            return [again.curves.get(0), finished.race, finished.ratings, resynchronised.finished, elsewhere.finished];
        """
        assert browser.run(script, ada.room) == [[[0, 4], [1000, 5], [3000, 6]], 1, [{"before": 1, "after": 2}], None, None]


def test_a_race_whose_record_is_closed_has_a_result_and_no_boards(browser: Browser, server: str) -> None:
    with race(server) as (ada, _):
        browser.open(page(server))
        script = """
            const [room] = given;
            const { WatchedRace } = await import("/web/model.js");
            const shared = { id: "x", number: 1, of: 1 };
            const racing = { ...room, phase: "racing", elapsed_ms: 5000, race: 1, record: null, shared };
            const race = new WatchedRace({ room: racing, boards: [], watchers: 1, lines: [], closest: false, curves: [] }, 0);
            const seats = room.seats.map((seat) => ({ ...seat, state: "stopped", home: 6, plies: 3, ended_at_ms: 9000, place: 1 }));
            const before = race.isWithheld;
            race.apply({ type: "ended", version: race.version + 1, seats }, 0);
            const closed = [race.phase, race.finished.id, race.finished.seats[0].home, race.elapsed(99999), race.isWithheld];
            race.apply({ type: "result", version: race.version + 1, record: { id: "ABC-1-00", seats, moves: [], ended_at_ms: 9000 } }, 0);
            return [before, closed, race.finished.id, race.isWithheld];
        """
        assert browser.run(script, ada.room) == [True, ["over", "", 6, 9000, True], "ABC-1-00", False]


def test_the_lobby_tells_ratings_and_series(browser: Browser, server: str) -> None:
    with race(server) as (ada, zoe):
        for player in (ada, zoe):
            player.play(1)
            player.stop()
        after = [seat["after"] for seat in ada.hear_of("ratings")["seats"]]
        for player in (ada, zoe):
            player.send("leave-race")
            player.hear_of("left")
        ada.sit_down("open-race", options={"series": {"format": "session", "races": 3}, "countdown_s": 1})
        browser.open(page(server))
        browser.wait_for_text(".open h3", f"{ada.name} {after[0]} (1 open seat)")
        assert browser.text(".open .facts") == "Carpet · session of 3 · 2 seats · at most 10:00 · rated"
        # Somebody of an earlier test may stand there a moment longer.
        here = f"{ada.name} {after[0]}, {zoe.name} {after[1]}"
        browser.wait(lambda: browser.text(".here") == here, here)
        zoe.sit_down("join-race", code=ada.code)
        for player in (ada, zoe):
            player.ready()
        browser.wait(
            lambda: f"{ada.name} {after[0]} against {zoe.name} {after[1]}" in [each.text for each in browser.all(".races h3 a")], "ratings"
        )


def test_what_is_said_is_in_the_order_of_hearing_and_goes_on_when_there_is_much_of_it(browser: Browser, server: str) -> None:
    with race(server) as (ada, _):
        browser.open(page(server, f"/watch/{ada.code}"))
        browser.wait_for_text("h1", ada.name)
        script = """
            const [room] = given;
            return import("/web/model.js").then(({ WatchedRace }) => {
                const line = (number) => ({ number, name: "Eve", text: String(number) });
                const race = new WatchedRace({ room, boards: [], watchers: 1, lines: [line(1)], closest: false }, 0);
                const talk = (number) => race.takeTalk([line(number)]);
                race.apply({ type: "said", version: room.version + 1, line: { seat: 0, name: "Ada", text: "Nice!" } }, 0);
                talk(2);
                talk(2);
                const early = [race.lines.map((line) => line.text), race.linesHeard];
                for (let number = 3; number <= 150; number++) talk(number);
                return [...early, race.lines.length, race.linesHeard];
            });
        """
        assert browser.run(script, ada.room) == [["1", "Nice!", "2"], 3, 100, 151]


def test_the_closest_race_is_shown_and_none_is_waited_for(browser: Browser, server: str) -> None:
    browser.open(page(server, "/watch/closest"))
    browser.wait_for_text(".facts", "No public race is running now.")
    with race(server, "Barbara", "Donald") as (barbara, donald):
        browser.wait_for_text("h1", f"{barbara.name} against {donald.name}")
        browser.wait_for_text("title", "Barbara")
        assert browser.driver.title == f"{barbara.name} against {donald.name} · Carpet Race"


@pytest.mark.parametrize("path", ["/watch/QQQQQQ", "/tournament/qqqqqq", "/watch/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "/watch/%E2%80%AE"])
def test_what_is_not_there_is_one_sentence_and_where_to_go(browser: Browser, server: str, path: str) -> None:
    browser.open(page(server, path))
    sentences = {"/watch/%E2%80%AE": "not readable text", "/tournament/qqqqqq": "There is no tournament with that id."}
    assert sentences.get(path, "No race has that code now.") in browser.text(".summary")
    browser.wait_for_complaints(page(server, path))
    browser.click("main li a")
    browser.wait_for_text("h1", "Play")


# ---- what it lets nobody do


def test_hostile_names_are_text(browser: Browser, server: str) -> None:
    with race(server, f"{HOSTILE}(1)>", "\u202eZoë\u2066 <b>\x1b[31m", delay_s=1, rated=False) as (ada, _):
        assert ada.name == HOSTILE
        for path in ("/", f"/watch/{ada.code}"):
            browser.open(page(server, path))
            # In the list there may be the race of an earlier test, which goes.
            browser.wait(lambda: [label for label, _ in meters(browser)] == [HOSTILE, "Zoë <b>"], "the bars, by the names as they are")
            assert browser.all("main img, main b, main script, main iframe, main object") == []
    # What another server than ours would let through.
    made = browser.run(
        "const { nameOf } = await import('/web/dom.js'); const made = nameOf(given[0]); return [made.outerHTML, made.children.length]",
        "\u202e<b>x</b>\u0000\u200f\u2066\x1b[31m",
    )
    assert made == ['<bdi class="name">&lt;b&gt;x&lt;/b&gt;[31m</bdi>', 0]


def test_markup_and_scripts_from_anywhere_are_refused_by_the_policy(browser: Browser, server: str) -> None:
    browser.open(page(server))
    browser.wait_for_text(".summary", "here.")
    for attempt in (
        "document.body.innerHTML = '<p>'",
        "const made = document.createElement('script'); made.text = 'window.caught = 1'; document.body.append(made)",
        "const made = document.createElement('script'); made.src = 'data:text/javascript,window.caught=1'; document.body.append(made)",
    ):
        assert "TrustedHTML" in str(thrown := browser.run(attempt)) or "TrustedScript" in str(thrown)
    browser.run("const made = document.createElement('p'); made.setAttribute('style', 'color: red'); document.body.append(made)")
    assert "TrustedScript" in str(browser.run("document.body.setAttribute('onclick', 'window.caught = 1')"))
    assert browser.run("return window.caught ?? null") is None
    browser.wait_for_complaints("", count=4)


OPEN_SOCKET = """
    return await new Promise((resolve) => {
        const socket = new WebSocket(given[0], "carpet.v1.json");
        socket.onopen = () => resolve("open");
        socket.onerror = () => resolve("refused");
    });
"""


def test_a_page_from_elsewhere_gets_no_socket(browser: Browser, server: str) -> None:
    by_name = server.replace("127.0.0.1", "localhost")
    # A page without a policy of its own, and whose origin is the server's under another name.
    browser.open(page(by_name, "/healthz"))
    assert browser.run(OPEN_SOCKET, by_name) == "open"
    assert browser.run(OPEN_SOCKET, server) == "refused"
    (complaint,) = browser.wait_for_complaints("WebSocket")
    assert "Unexpected response code: 403" in complaint


# ---- for everybody


@pytest.fixture(scope="module")
def tables_server() -> Iterator[str]:
    """One of their own: they stay, and other tests count the races of a server."""
    with serving(rate=1000, burst=1000) as url:
        yield url


@pytest.fixture(scope="module")
def tables(tables_server: str) -> Iterator[list[str]]:
    """Paths of the lobby and of races of every kind of layout, with the longest names and a race that waits."""
    with ExitStack() as stack:
        paths = ["/"]
        for number, rules in enumerate(("carpet-strategy", "colorado", "persian-rug"), 1):
            one, other = f"{LONG[:-1]}{number}", f"Zoë {number}"
            ada, zoe = stack.enter_context(race(tables_server, one, other, rules=rules, delay_s=0, rated=False, deal="Monday"))
            for player in (ada, zoe):
                player.play(5)
            paths.append(f"/watch/{ada.code}")
        waiting = stack.enter_context(sitting(tables_server, LONG, rules="crazy-quilt"))
        paths.append(f"/watch/{waiting.code}")
        yield paths


def wait_for_page(browser: Browser, path: str, tables: list[str]) -> None:
    if path == "/":
        browser.wait(lambda: len(browser.all(".races li")) == 3 and browser.all(".open li"), f"the races, not: {browser.text('main')}")
    elif path == tables[-1]:
        browser.wait_for_text(".bars", "open seat")
    else:
        browser.wait(
            lambda: all("5 moves" in each.text for each in browser.all(".seat-board .when") or [browser.all("h1")[0]]), "the boards"
        )


@pytest.mark.parametrize("place", range(5))
def test_it_fits_every_width_and_is_readable_in_light_and_dark(browser: Browser, tables_server: str, tables: list[str], place: int) -> None:
    path = tables[place]
    browser.open(page(tables_server, path))
    wait_for_page(browser, path, tables)
    for width in (320, 390, 768, 1024, 1280, 1600):
        browser.look(width=width)
        assert browser.run(OVERFLOW) == [0, []], width
    backgrounds = []
    for scheme in ("light", "dark"):
        browser.look(scheme=scheme)
        seen, poor = browser.run(CONTRAST)
        assert seen >= 20
        assert poor == [], scheme
        backgrounds.append(browser.run("return getComputedStyle(document.documentElement).backgroundColor"))
    assert backgrounds == ["rgb(246, 243, 234)", "rgb(18, 23, 20)"]


@pytest.mark.parametrize("place", [0, 1, 2, 4])
def test_whoever_listens_is_told_all_of_it(browser: Browser, tables_server: str, tables: list[str], place: int) -> None:
    path = tables[place]
    browser.open(page(tables_server, path))
    wait_for_page(browser, path, tables)
    nodes = browser.nodes()
    roles = [node["role"] for node in nodes]
    assert [roles.count(role) for role in ("banner", "main", "contentinfo", "navigation")] == [1, 1, 1, 1]
    assert [node for node in nodes if node["role"] in UNNAMED and not node["name"].strip()] == []
    levels = [node["level"] for node in nodes if node["role"] == "heading"]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    assert browser.run("return [...document.querySelectorAll('[role=status]')].map((each) => each.id)") == ["connection", "notice", "news"]
    identities = browser.run("return [...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(identities) == len(set(identities))
    assert browser.run("return document.documentElement.lang") == "en"


def test_keys_reach_everything_in_order_and_it_is_seen(browser: Browser, tables_server: str, tables: list[str]) -> None:
    browser.open(page(tables_server))
    wait_for_page(browser, "/", tables)
    everything = "[...document.querySelectorAll('a[href], button')].filter((each) => each.checkVisibility())"
    reachable = browser.run(f"return {everything}.length")
    assert reachable >= 10
    reached = []
    for number in range(reachable):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(browser.run(f"return {everything}.indexOf(document.activeElement)"))
        outline, box = browser.run("""
            const style = getComputedStyle(document.activeElement), box = document.activeElement.getBoundingClientRect();
            return [style.outlineStyle + style.outlineWidth, box.width > 0 && box.bottom > 0 && box.right > 0];
        """)
        assert (outline, box) == ("solid3px", True), number
    assert reached == list(range(reachable))
    browser.open(page(tables_server))
    wait_for_page(browser, "/", tables)
    browser.driver.switch_to.active_element.send_keys(Keys.TAB, Keys.ENTER)
    browser.wait(lambda: browser.run("return document.activeElement.id") == "main", "the skip link's end")
    browser.driver.switch_to.active_element.send_keys(Keys.TAB)
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    browser.wait(lambda: browser.driver.current_url == page(tables_server, "/play"), "the way to play")


def test_nothing_moves_for_who_wants_no_motion(browser: Browser, tables_server: str, tables: list[str]) -> None:
    browser.open(page(tables_server, tables[1]))
    wait_for_page(browser, tables[1], tables)
    motion = "return getComputedStyle(document.querySelector('.fill')).transitionDuration"
    assert browser.run(motion) == "0.25s"
    browser.look(motion="reduce")
    assert browser.run(motion) == "0s"


NO_TRY_BY_ITSELF = """
    const later = window.setTimeout;
    window.setTimeout = (call, ...more) => String(call).includes("open()") ? 1 : later(call, ...more);
"""


@pytest.mark.parametrize("how", ["by its button", "by itself"])
def test_a_lost_connection_is_told_and_comes_back(browser: Browser, port: int, how: str) -> None:
    with serving(port=port) as url:
        browser.open(page(url))
        browser.wait_for_text(".summary", "0 races running")
        assert browser.text("#connection") == ""
        if how == "by its button":
            browser.run(NO_TRY_BY_ITSELF)
    browser.wait_for_text("#connection", "Connection lost. Reconnecting…")
    for scheme in ("light", "dark"):
        browser.look(scheme=scheme)
        assert browser.run(CONTRAST)[1] == browser.breaches() == []
    with serving(port=port), sitting(url, "Grace"):
        if how == "by its button":
            browser.type("#connection button", Keys.ENTER)
        browser.wait_for_text(".here", "Grace")
        assert browser.text("#connection") == ""
        browser.wait_for_text("#news", "Connected again.")
        browser.open("about:blank")
        assert all("ERR_CONNECTION" in complaint for complaint in browser.complaints())


def test_a_long_list_says_how_much_of_it_is_shown_and_only_the_closest_moves(browser: Browser, server: str) -> None:
    browser.open(page(server, "/ladder"))
    script = """
        const { LobbyPage } = await import("/web/lobby.js");
        const lobby = new LobbyPage({});
        const race = (code) => ({ code, rules: "carpet", watchers: 0, elapsed_ms: 0, time_limit_s: 600, delay_s: 10, tournament: "",
            seats: [{ name: code, bot: null, state: "racing", home: 1, rating: 1000 }] });
        const codes = [...Array(100)].map((_, number) => `R${number}`);
        const tell = (order) => lobby.hear({ type: "lobby", players: [], players_here: 0, races: [], races_open: 0, ratings: [],
            races_running: 1001, running: order.map(race) });
        const shown = () => [...lobby.node.querySelectorAll(".races h3 a")].map((each) => each.textContent.split(" ")[0]);
        tell(codes);
        const before = shown();
        tell(["R7", ...[...codes].reverse().filter((code) => code !== "R7")]);
        return [lobby.runningNote.textContent, lobby.runningNote.hidden, before.length, shown().slice(0, 3), shown().at(-1)];
    """
    assert browser.run(script) == ["100 of 1,001 shown.", False, 100, ["R7", "R0", "R1"], "R99"]


@pytest.mark.parametrize("path", ["/", "/watch/{code}"])
def test_the_first_bars_are_there_before_the_line_is(browser: Browser, server: str, path: str) -> None:
    script = {"source": "window.WebSocket = class extends EventTarget { send() {} close() {} }"}
    with race(server, rules="colorado") as (ada, zoe):
        ada.play()
        made = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", script)
        try:
            told = [(player.name, f"{player.home} of 104 cards home") for player in (ada, zoe)]

            def drawn() -> bool:
                # The list of races may be a second old, and nothing here brings a newer one.
                browser.open(page(server, path.format(code=ada.code)))
                browser.wait(lambda: meters(browser), "bars")
                return told == [each for each in meters(browser) if each in told]

            browser.wait(drawn, "their bars")
            assert browser.breaches() == []
        finally:
            browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", made)


def test_a_machine_without_a_network_is_told_at_once(browser: Browser, server: str) -> None:
    with race(server) as (ada, _):
        browser.open(page(server, f"/watch/{ada.code}"))
        browser.wait_for_text("h1", ada.name)
        # Nothing but its own word can have told the page: a silence is looked into after eight seconds.
        browser.run("setInterval = setTimeout = () => 0; performance.now = () => 0")

        def says(told: str) -> bool:
            return browser.text("#connection") == told

        for offline, told in ((True, "Connection lost. Reconnecting… Try now"), (False, "")):
            conditions = {"offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
            browser.driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)
            browser.wait(partial(says, told), told)
        browser.open("about:blank")
        assert all("ERR_INTERNET_DISCONNECTED" in complaint for complaint in browser.complaints())


def test_two_wide_boards_stand_side_by_side_on_a_small_laptop(browser: Browser, server: str) -> None:
    with race(server, rules="colorado", delay_s=0, rated=False) as (ada, _):
        ada.play()
        browser.look(width=1280, height=800)
        browser.open(page(server, f"/watch/{ada.code}"))
        browser.wait(lambda: len(browser.all(".seat-board .card")) > 2, "the boards")
        boxes = "[...document.querySelectorAll('.seat-board')].map((each) => each.getBoundingClientRect())"
        one, other = browser.run(f"return {boxes}.map(({{ top, left, right }}) => [top, left, right])")
        assert one[0] == other[0]
        assert one[2] < other[1] < other[2] <= 1280


def test_ranks_are_said_as_they_are_drawn(browser: Browser, server: str) -> None:
    browser.open(page(server))
    said = browser.run(
        "const { cardTexts } = await import('/web/boards.js'); return given[0].map((card) => Object.values(cardTexts(card)))",
        [rank + suit for rank, suit in zip(RANKS, "SHDC" * 4, strict=False)],
    )
    assert said[:2] == [["A", "♠", "ace of spades", False], ["2", "♥", "2 of hearts", True]]
    assert said[9:] == [
        ["10", "♥", "10 of hearts", True],
        ["J", "♦", "jack of diamonds", True],
        ["Q", "♣", "queen of clubs", False],
        ["K", "♠", "king of spades", False],
    ]
