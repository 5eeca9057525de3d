"""The web page in a real Chromium: what it shows of running races, and to whom, how it looks, and what it lets nobody do.

No test sleeps: each waits for what the page should show. A test that something is hidden uses a delay of ten minutes.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys
from typer.testing import CliRunner

from protocol.cards import RANKS
from server.cli.commands import app
from tests.e2e.browser import Browser, Page, ScriptError, page
from tests.e2e.commands import serving
from tests.e2e.page_checks import breaches, poorly_structured, roles, texts_seen, too_pale, too_wide
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


def meters(now: Page) -> list[tuple[str, str]]:
    """Of each bar its label and its text."""
    script = "return [...document.querySelectorAll('main .meter')].map((bar) => [bar.ariaLabel, bar.ariaValueText])"
    return [(label, text) for label, text in now.run(script)]


# ---- the list of races


def test_what_the_host_says_stands_on_the_page_until_it_is_hidden(browser: Browser, tmp_path: Path) -> None:
    with serving(admin_socket=str(tmp_path / "admin")) as url:
        browser.open(page(url))
        browser.wait_for_text(".summary", "0 players here.")
        said = CliRunner().invoke(app, ["admin", "say", "We restart at <b>eight</b>.", "--socket", str(tmp_path / "admin")])
        assert said.stdout == "said to all connections, 1: We restart at <b>eight</b>.\n"
        browser.wait_for_text("#notice", "(We restart at <b>eight</b>.)")
        browser.press("Hide", "#notice")
        browser.expect_text("#notice", "")
        # Or it would complain of the server that goes.
        browser.open("about:blank")


def test_the_lobby_is_live(browser: Browser, server: str) -> None:
    browser.open(page(server))
    browser.wait_for_text(".summary", "0 races running, 0 open, 0 players here.")
    with race(server) as (ada, zoe), sitting(server, "Grace", rules="crazy-quilt") as grace:
        browser.wait_for_text(".summary", "1 race running, 1 open, 3 players here.")
        browser.expect_text(".races h3 a", f"{ada.name} against {zoe.name}")
        browser.expect(lambda now: now.links(".races h3 a"), [page(server, f"/watch/{ada.code}")])
        browser.expect_text(".here", f"{ada.name}, {zoe.name}, {grace.name}")
        browser.expect_text(".open h3", f"{grace.name} (1 open seat)")
        browser.wait(lambda now: now.text(".open .facts").startswith("Crazy Quilt · 2 seats"), "the facts")
        browser.expect_text(".open code", f"carpet join {server} {grace.code}")
        get_ahead(ada, zoe)
        browser.expect(meters, [(ada.name, home(ada)), (zoe.name, home(zoe))])
        browser.expect(lambda now: any(now.shown(".badge")), False)
        with race(server, "Barbara", "Donald") as closest_two:
            for player in closest_two:
                player.play(3)
            browser.wait(lambda now: len(now.all(".races li")) == 2, "the other race")
            closest = " against ".join(each.name for each in closest_two)
            browser.expect_texts(".races .closest h3 a", [closest])
            browser.expect(lambda now: now.shown(".badge"), [True, False])
        for player in (ada, zoe):
            player.stop()
        browser.wait_for_text(".summary", "0 races running")


def test_a_command_can_be_copied_by_keys(browser: Browser, server: str) -> None:
    with sitting(server, "Grace") as grace:
        browser.open(page(server))
        # The race of an earlier test may stand there a moment longer, and goes.
        of_grace = f"[aria-label='Copy the command that joins race {grace.code}']"
        browser.expect(lambda now: len(now.all(of_grace)), 1)
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
        answer = browser.wait(lambda now: now.run("return answers[0]"), "the button's answer")
        assert answer in ("Copied", "Selected")
        if answer == "Selected":
            browser.expect(lambda now: now.run("return String(getSelection())"), f"carpet join {server} {grace.code}")


# ---- a race


def test_bars_move_at_once_and_boards_stay_hidden_until_the_result(browser: Browser, server: str) -> None:
    with race(server, delay_s=NEVER_S) as (ada, zoe):
        browser.open(page(server, f"/watch/{ada.code.lower()}"))
        browser.wait_for_text("h1", f"{ada.name} against {zoe.name}")
        browser.run("""
            window.spoken = [];
            new MutationObserver(() => spoken.push(performance.now())).observe(document.getElementById("news"), {childList: true});
        """)
        browser.expect_text(".notice", "Boards are shown 600 seconds late. The bars are not.")
        for player, moves in ((ada, 6), (zoe, 3), (ada, 6)):
            player.play(moves)
            browser.expect(meters, [(each.name, home(each)) for each in (ada, zoe)])
        browser.expect_texts(".bar .moves", ["12 moves", "3 moves"])
        browser.expect_texts(".waiting", ["The first cards are shown 600 seconds after the start."] * 2)
        browser.expect(lambda now: {*cells(now, 0), *cells(now, 1)}, {""})
        browser.expect(lambda now: now.shown(".race > section")[0], False)
        for player in (ada, zoe):
            player.stop()
        record = ada.hear_of("result")["record"]
        order = sorted(record["seats"], key=lambda seat: seat["place"])
        browser.expect(lambda now: [text.split(":")[0] for text in now.texts(".places li")], [seat["name"] for seat in order])
        browser.wait_for_text(".places li", f"{order[0]['home']} cards home")
        browser.expect_texts(".waiting", ["", ""])
        browser.expect(lambda now: [cells(now, seat) for seat in (0, 1)], [cards(ada), cards(zoe)])
        browser.expect(lambda now: len(now.all(".plot .curve")), 2)
        address = browser.wait(lambda now: now.links(".checked a")[1:], "the link to the record")[0]
        with urllib.request.urlopen(str(address)) as answered:
            assert json.load(answered) == record
        browser.wait_for_text("#news", "The race is over. 1. ")
        times = browser.run("return window.spoken")
        # Four seconds, but for how long the machine may have paused the page between saying and noting it.
        assert all(later - earlier > 3000 for earlier, later in pairwise(times))


def cells(now: Page, seat: int) -> list[str]:
    """What is said of each slot of a seat's board."""
    script = """
        const board = document.querySelectorAll(".seat-board")[given[0]];
        return [...board?.querySelectorAll("td .unseen") ?? []].map((each) => each.textContent);
    """
    return list(now.run(script, seat))


def cards(player: Racer) -> list[str]:
    """What is to be said of each of their slots."""
    pending = player.view["pending"]
    return [spoken(pile[-1]) if pile else "gap to be filled" if slot == pending else "gap" for slot, pile in player.view["piles"].items()]


def test_boards_come_while_the_race_is_run_as_late_as_it_says(browser: Browser, server: str) -> None:
    with race(server, delay_s=1, rated=False) as (ada, zoe):
        browser.open(page(server, f"/watch/{ada.code}"))
        ada.play(5)
        zoe.play(2)
        # Ada's own may have to wait: on some deals one of her moves tells of a card that Zoë has yet to turn.
        browser.expect(lambda now: cells(now, 1), cards(zoe))
        # On one shuffle she makes the same moves: only now has she seen all the cards that lie open on Ada's.
        zoe.play(3)
        assert cards(ada) == cards(zoe)
        browser.wait_for_text(".seat-board .when", "5 moves")
        browser.expect(lambda now: [cells(now, seat) for seat in (0, 1)], [cards(ada), cards(zoe)])
        browser.wait_for_text(".clock", "/ 10:00")
        browser.expect(lambda now: now.texts(".seat-board th")[:9], [*"abcde", *"1234"])
        stock, waste = ada.view["stock"], ada.view["waste"]
        said = "return [...document.querySelector('.piles').querySelectorAll('.unseen, .note')].map((each) => each.textContent)"
        piles = ["", f"Stock {stock}", spoken(waste[-1]) if waste else "no card", f"Waste {len(waste)}"]
        browser.expect(lambda now: now.run(said), piles)


def test_of_the_first_race_of_a_swap_no_board_is_promised(browser: Browser, server: str) -> None:
    with race(server, series={"format": "swap", "races": 2}) as (ada, zoe):
        browser.open(page(server, f"/watch/{ada.code}"))
        browser.wait_for_text(".waiting", "No board is shown of the first race of a swap.")
        browser.expect(lambda now: now.shown(".notice"), [False])
        for player in (ada, zoe):
            player.stop()
        browser.wait_for_text(".waiting", "No cards before the start.")
        browser.wait_for_text(".notice", "Boards are shown 10 seconds late.")


def points(now: Page, seat: int) -> list[tuple[float, float]]:
    """Where the line of a seat's curve turns."""
    drawn = now.run("return document.querySelector(given[0])?.getAttribute('d') ?? ''", f".plot .curve.seat-{seat}")
    if not drawn:
        return []
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
        browser.expect(lambda now: now.shown(".score"), [False])
        # Nobody's rating moves by a race that only one of them has raced.
        zoe.play(1)
        get_ahead(ada, zoe)
        for player in (ada, zoe):
            player.stop()
        record = ada.hear_of("result")["record"]
        ratings = ada.hear_of("ratings")["seats"]
        browser.wait_for_text(".series", f"Best of 3: {ada.name} 1 : 0 {zoe.name}. Race 2 is next.")
        browser.expect_text("#result", "Result of the race before")
        changes = [f"rating {seat['before']} → {seat['after']} ({seat['after'] - seat['before']:+})".replace("-", "−") for seat in ratings]
        browser.expect(lambda now: [text.rpartition(" · ")[2] for text in now.texts(".places li")], changes)
        rows = [[player.name, str(1 - at), str(record["seats"][at]["home"]), str(at + 1)] for at, player in enumerate((ada, zoe))]
        browser.expect(lambda now: [now.texts(f".score tbody tr:nth-child({row}) :is(th, td)") for row in (1, 2, 3)], [*rows, []])
        browser.expect(lambda now: len(now.all(".plot .curve")), 2)
        links = [page(server, f"/race/{record['id']}"), page(server, f"/races/{record['id']}.json")]
        browser.expect(lambda now: now.links(".checked a"), links)
        for scheme in ("light", "dark"):
            for width in (320, 360, 1280):
                browser.look(width=width, scheme=scheme)
                browser.expect(too_wide, [])
            browser.expect(too_pale, [])
        # A new page knows the score; the race before is in nobody's snapshot.
        browser.open(page(server, f"/watch/{ada.code}"))
        browser.wait_for_text(".series", f"Best of 3: {ada.name} 1 : 0 {zoe.name}. Race 2 is next.")
        for player in (ada, zoe):
            player.send("ready", race=2, nonce="00" * 16)
        for player in (ada, zoe):
            player.start()
        browser.wait_for_text(".series", "Race 2 is being run.")
        browser.expect(lambda now: now.shown("#result"), [False])


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
    place = browser.wait(lambda now: "Next" in (told := now.texts(".controls .actions button")) and told.index("Next") + 1, "the button")
    on = f".controls .actions button:nth-of-type({place})"
    browser.click(on)
    browser.wait_for_text(".said-move", "Move 1 of 3")
    browser.type(on, Keys.ARROW_RIGHT)
    browser.wait_for_text(".said-move", "Move 2 of 3")
    # The space bar is the button's own.
    browser.type(on, " ")
    browser.wait_for_text(".said-move", "Move 3 of 3")
    # At the end it is as late as it gets.
    browser.expect(lambda now: len(set(now.text(".clock").split(" / "))), 1)


def test_whoever_comes_late_is_shown_the_whole_curves(browser: Browser, server: str) -> None:
    with race(server, rules="colorado") as (ada, _):
        homes = [ada.home]
        while len(homes) <= 3:
            ada.play()
            homes += [ada.home] if ada.home != homes[-1] else []
        browser.open(page(server, f"/watch/{ada.code}"))
        browser.expect(lambda now: len(points(now, 0)[:-1]), len(homes))
        corners = browser.wait(lambda now: points(now, 0), "the curve")
        heights = [y for _, y in corners[:-1]]
        assert corners[0][0] == 34, "at the left edge"
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
        browser.expect_text(".open .facts", "Carpet · session of 3 · 2 seats · at most 10:00 · rated")
        # Somebody of an earlier test may stand there a moment longer.
        here = f"{ada.name} {after[0]}, {zoe.name} {after[1]}"
        browser.expect_text(".here", here)
        zoe.sit_down("join-race", code=ada.code)
        for player in (ada, zoe):
            player.ready()
        browser.wait(lambda now: f"{ada.name} {after[0]} against {zoe.name} {after[1]}" in now.texts(".races h3 a"), "ratings")


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
        browser.expect_text("title", f"{barbara.name} against {donald.name} · Carpet Race")


@pytest.mark.parametrize("path", ["/watch/QQQQQQ", "/tournament/qqqqqq", "/watch/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "/watch/%E2%80%AE"])
def test_what_is_not_there_is_one_sentence_and_where_to_go(browser: Browser, server: str, path: str) -> None:
    browser.open(page(server, path))
    sentences = {"/watch/%E2%80%AE": "not readable text", "/tournament/qqqqqq": "There is no tournament with that id."}
    browser.wait_for_text(".summary", sentences.get(path, "No race has that code now."))
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
            browser.wait(lambda now: [label for label, _ in meters(now)] == [HOSTILE, "Zoë <b>"], "the bars, by the names as they are")
            browser.expect_texts("main img, main b, main script, main iframe, main object", [])
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
        with pytest.raises(ScriptError, match=r"TrustedHTML|TrustedScript"):
            browser.run(attempt)
    browser.run("const made = document.createElement('p'); made.setAttribute('style', 'color: red'); document.body.append(made)")
    with pytest.raises(ScriptError, match="TrustedScript"):
        browser.run("document.body.setAttribute('onclick', 'window.caught = 1')")
    browser.wait_for_complaints("", count=4)
    assert browser.run("return window.caught ?? null") is None


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
        browser.wait(lambda now: len(now.all(".races li")) == 3 and now.all(".open li"), "the races")
    elif path == tables[-1]:
        browser.wait_for_text(".bars", "open seat")
    else:
        browser.wait(lambda now: all("5 moves" in each.text for each in now.all(".seat-board .when") or [now.all("h1")[0]]), "the boards")


@pytest.mark.parametrize("place", range(5))
def test_it_fits_every_width_and_is_readable_in_light_and_dark(browser: Browser, tables_server: str, tables: list[str], place: int) -> None:
    path = tables[place]
    browser.open(page(tables_server, path))
    wait_for_page(browser, path, tables)
    for width in (320, 390, 768, 1024, 1280, 1600):
        browser.look(width=width)
        browser.expect(too_wide, [])
    for scheme, background in (("light", "rgb(246, 243, 234)"), ("dark", "rgb(18, 23, 20)")):
        browser.look(scheme=scheme)
        browser.expect(too_pale, [])
        browser.wait(lambda now: texts_seen(now) >= 20, "20 texts")
        browser.expect(lambda now: now.run("return getComputedStyle(document.documentElement).backgroundColor"), background)


@pytest.mark.parametrize("place", [0, 1, 2, 4])
def test_whoever_listens_is_told_all_of_it(browser: Browser, tables_server: str, tables: list[str], place: int) -> None:
    path = tables[place]
    browser.open(page(tables_server, path))
    wait_for_page(browser, path, tables)
    browser.expect(lambda now: roles(now, "banner", "main", "contentinfo", "navigation"), [1, 1, 1, 1])
    browser.expect(poorly_structured, [])
    spoken_at = "return [...document.querySelectorAll('[role=status]')].map((each) => each.id)"
    browser.expect(lambda now: now.run(spoken_at), ["connection", "notice", "told", "news"])
    browser.expect(lambda now: now.run("return document.documentElement.lang"), "en")


def test_keys_reach_everything_in_order_and_it_is_seen(browser: Browser, tables_server: str, tables: list[str]) -> None:
    browser.open(page(tables_server))
    wait_for_page(browser, "/", tables)
    everything = "[...document.querySelectorAll('a[href], button')].filter((each) => each.checkVisibility())"
    reached = f"""
        const style = getComputedStyle(document.activeElement), box = document.activeElement.getBoundingClientRect();
        const seen = [style.outlineStyle + style.outlineWidth, box.width > 0 && box.bottom > 0 && box.right > 0];
        return [{everything}.indexOf(document.activeElement), ...seen];
    """
    reachable = browser.run(f"return {everything}.length")
    assert reachable >= 10
    for number in range(reachable):
        browser.keys(Keys.TAB)
        browser.expect(lambda now: now.run(reached), [number, "solid3px", True])
    browser.open(page(tables_server))
    wait_for_page(browser, "/", tables)
    browser.keys(Keys.TAB, Keys.ENTER)
    browser.expect(lambda now: now.run("return document.activeElement.id"), "main")
    browser.keys(Keys.TAB, Keys.ENTER)
    browser.expect(lambda now: now.address, page(tables_server, "/play"))


def test_nothing_moves_for_who_wants_no_motion(browser: Browser, tables_server: str, tables: list[str]) -> None:
    browser.open(page(tables_server, tables[1]))
    wait_for_page(browser, tables[1], tables)
    motion = "return getComputedStyle(document.querySelector('.fill')).transitionDuration"
    browser.expect(lambda now: now.run(motion), "0.25s")
    browser.look(motion="reduce")
    browser.expect(lambda now: now.run(motion), "0s")


NO_TRY_BY_ITSELF = """
    const later = window.setTimeout;
    window.held = 0;
    window.setTimeout = (call, ...more) => String(call).includes("#reach()") ? (held += 1) : later(call, ...more);
"""
"""Run on a page: what it would try later by itself is never tried, and counted."""


@pytest.mark.parametrize("how", ["by its button", "by itself"])
def test_a_lost_connection_is_told_and_comes_back(browser: Browser, port: int, how: str) -> None:
    with serving(port=port) as url:
        browser.open(page(url))
        browser.wait_for_text(".summary", "0 races running")
        browser.expect_text("#connection", "")
        if how == "by its button":
            browser.run(NO_TRY_BY_ITSELF)
    browser.wait_for_text("#connection", "Connection lost. Reconnecting…")
    for scheme in ("light", "dark"):
        browser.look(scheme=scheme)
        browser.expect(too_pale, [])
        browser.expect(breaches, [])
    with serving(port=port), sitting(url, "Grace"):
        if how == "by its button":
            browser.wait(lambda now: now.run("return held"), "a try that is held back")
            browser.type("#connection button", Keys.ENTER)
        browser.wait_for_text(".here", "Grace")
        browser.expect_text("#connection", "")
        browser.wait_for_text("#news", "Connected again.")
        browser.open("about:blank")
        assert all("ERR_CONNECTION" in complaint for complaint in browser.complaints())


def test_a_page_whose_first_connection_hangs_says_so_and_goes_on_trying(browser: Browser, server: str) -> None:
    hanging = """
        window.lines = [];
        const WebSocketThatAnswers = window.WebSocket;
        window.WebSocket = class {
            static CONNECTING = 0;
            static OPEN = 1;
            readyState = 0;
            constructor(...given) { if (window.answers) return new WebSocketThatAnswers(...given); lines.push(this); }
            close() { this.readyState = 3; }
        };
    """
    made = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": hanging})
    try:
        browser.open(page(server))
        browser.expect_text("#connection", "Connecting…")
        browser.run("const { now } = performance; performance.now = () => now.call(performance) + 8000")
        browser.expect_text("#connection", "The server does not answer. Trying again… Try now")
        assert browser.run("return lines[0].readyState") == 3
        browser.run("window.answers = true")
        browser.wait_for_text("#news", "Connected.")
        browser.expect_text("#connection", "")
    finally:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", made)


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


def test_a_table_in_the_list_of_races_leads_to_its_tournament_by_name_once_that_is_known(browser: Browser, server: str) -> None:
    browser.open(page(server, "/ladder"))
    script = """
        const { LobbyPage } = await import("/web/lobby.js");
        const lobby = new LobbyPage({});
        const race = { code: "ABCDEF", rules: "carpet", watchers: 0, elapsed_ms: 0, time_limit_s: 600, delay_s: 10, tournament: "KWPRTM",
            seats: [{ name: "Ida", bot: null, state: "racing", home: 1, rating: 1000 }] };
        lobby.hear({ type: "lobby", players: [], players_here: 0, races: [], races_open: 0, ratings: [], races_running: 1,
            running: [race] });
        const shown = () => [...lobby.node.querySelectorAll(".races .facts a")].filter((link) => !link.parentElement.hidden)
            .map((link) => [link.textContent, link.getAttribute("href")]);
        const before = shown();
        lobby.hear({ type: "tournaments", tournaments: [{ id: "KWPRTM", name: "Kitchen Cup", format: "swiss", rules: "carpet",
            director: "Grace", phase: "running", round: 1, entrants: 2, by_code: false }] });
        return [before, shown()];
    """
    assert browser.run(script) == [[["Its tournament", "/tournament/KWPRTM"]], [["Kitchen Cup", "/tournament/KWPRTM"]]]


@pytest.mark.parametrize("path", ["/", "/watch/{code}"])
def test_the_first_bars_are_there_before_the_line_is(browser: Browser, server: str, path: str) -> None:
    script = {"source": "window.WebSocket = class extends EventTarget { send() {} close() {} }"}
    with race(server, rules="colorado") as (ada, zoe):
        ada.play()
        made = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", script)
        try:
            told = [(player.name, f"{player.home} of 104 cards home") for player in (ada, zoe)]

            def drawn(_: Page) -> bool:
                # The list of races may be a second old, and nothing here brings a newer one.
                browser.open(page(server, path.format(code=ada.code)))
                return told == [each for each in browser.wait(meters, "bars") if each in told]

            browser.wait(drawn, "their bars")
            browser.expect(breaches, [])
        finally:
            browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", made)


def test_a_machine_without_a_network_is_told_at_once(browser: Browser, server: str) -> None:
    with race(server) as (ada, _):
        browser.open(page(server, f"/watch/{ada.code}"))
        browser.wait_for_text("h1", ada.name)
        # Nothing but its own word can have told the page: a silence is looked into after eight seconds.
        browser.run("setInterval = setTimeout = () => 0; performance.now = () => 0")

        for offline, told in ((True, "Connection lost. Reconnecting… Try now"), (False, "")):
            conditions = {"offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
            browser.driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)
            browser.expect_text("#connection", told)
        browser.open("about:blank")
        assert all("ERR_INTERNET_DISCONNECTED" in complaint for complaint in browser.complaints())


def test_two_wide_boards_stand_side_by_side_on_a_small_laptop(browser: Browser, server: str) -> None:
    with race(server, rules="colorado", delay_s=0, rated=False) as (ada, _):
        ada.play()
        browser.look(width=1280, height=800)
        browser.open(page(server, f"/watch/{ada.code}"))
        browser.wait(lambda now: len(now.all(".seat-board .card")) > 2, "the boards")
        boxes = "[...document.querySelectorAll('.seat-board')].map((each) => each.getBoundingClientRect())"

        def side_by_side(now: Page) -> bool:
            one, other = now.run(f"return {boxes}.map(({{ top, left, right }}) => [top, left, right])")
            return bool(one[0] == other[0] and one[2] < other[1] < other[2] <= 1280)

        browser.wait(side_by_side, "the boards side by side")


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
