"""A server of several that is down when a player comes: the others that it once named, and how little they are trusted."""

from __future__ import annotations

import ssl
from collections.abc import Callable

import pytest
import trio
import trio.testing
from msgspec.structs import replace

from client.connection.address import parse_address
from client.connection.client import open_link
from client.connection.errors import LinkError, NotTrusted, RequestRefused, Unreachable
from client.connection.events import Back, Identity, Lost
from client.connection.request import NotAnswered, NotKnown, who_is
from client.connection.route import REMEMBERED, others
from client.connection.websocket import Dial
from protocol import server_messages as said
from protocol.client_messages import Hello, JoinRace, WhoAmI
from protocol.errors import CloseCode, ErrorCode
from protocol.server_messages import Welcome, YouAre
from tests.client import scenes
from tests.client.connection.linking import ANNA, URL, next_of
from tests.client.fake_server import FakeServer, welcome

KNOWN = Identity("anna", "token-1", "p1")
TWO, THREE, FOUR = (f"ws://n{number}.carpet.example:7777" for number in (2, 3, 4))
SECURE = "wss://carpet.example"

Kept = list[tuple[str | None, tuple[str, ...]]]


def down(server: FakeServer, attempts: int, error: Callable[[], Exception] = lambda: ConnectionRefusedError(111, "refused")) -> Dial:
    """A dial whose first attempts fail."""
    left = attempts

    async def dial() -> trio.abc.Stream:
        nonlocal left
        if left:
            left -= 1
            server.dialled_at.append(trio.current_time())
            raise error()
        return await server.dial()

    return dial


def up_and_down(server: FakeServer, attempts: str) -> Dial:
    """A dial whose attempts fail where there is a `d`, and not where there is a `u` or nothing."""
    planned = iter(attempts)

    async def dial() -> trio.abc.Stream:
        if next(planned, "u") == "d":
            raise ConnectionRefusedError(111, "refused")
        return await server.dial()

    return dial


def untrusted() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "bad")
    error.verify_code, error.verify_message = 18, "self-signed certificate"
    return error


SHUT_OUT = r"^carpet\.example:7777 lets nobody in any more, and none of its other servers let you in\.$"


def keeping(kept: Kept) -> Callable[[Identity, tuple[str, ...]], None]:
    return lambda identity, nodes: kept.append((identity.token, nodes))


async def test_the_others_are_tried_in_order_when_the_server_is_down_and_a_sentence_says_so(server: FakeServer) -> None:
    async with open_link(URL, KNOWN, nodes=(TWO, THREE), dial=down(server, 2)) as link:
        line = await server.line()
        assert line.host == "n3.carpet.example:7777"
        assert (await line.greet()).token == "token-1"
        assert (await next_of(link, Welcome)).token == "token-1"
        assert link.detour == "carpet.example:7777 does not answer; joined through n3.carpet.example:7777, one of its other servers."
        assert link.url == URL


async def test_who_comes_in_as_usual_hears_of_no_detour(server: FakeServer) -> None:
    async with open_link(URL, KNOWN, nodes=(TWO,), dial=server.dial) as link:
        assert (await server.greeted()).host == "carpet.example:7777"
        assert link.detour is None


async def test_when_none_of_them_can_be_reached_the_sentence_is_about_the_one_that_was_asked_for(server: FakeServer) -> None:
    with pytest.raises(Unreachable, match=r"^Nothing answers at carpet\.example:7777: .* None of its other servers"):
        async with open_link(URL, KNOWN, nodes=(TWO, THREE), dial=down(server, 99)):
            pass
    assert len(server.dialled_at) == 3


async def test_no_more_than_a_few_are_tried_however_many_are_given(server: FakeServer) -> None:
    nodes = [f"ws://n{number}.carpet.example" for number in range(100)]
    with pytest.raises(Unreachable):
        async with open_link(URL, KNOWN, nodes=nodes, dial=down(server, 999)):
            pass
    assert len(server.dialled_at) == 1 + REMEMBERED


async def test_a_server_that_hangs_gets_all_the_time_and_the_others_less(server: FakeServer) -> None:
    server.silent = True
    with pytest.raises(Unreachable):
        async with open_link(URL, KNOWN, nodes=(TWO,), dial=server.dial):
            pass
    assert trio.current_time() == pytest.approx(14, abs=0.1)


@pytest.mark.parametrize(
    "url",
    [
        "ws://n2.carpet.example",
        "wss://n2.carpet\x1b[2J.example",
        "wss://n2.carpet.example/\x9b2J",
        "wss://user@n2.carpet.example",
        "wss://127.0.0.1:7777",
        "wss://192.168.1.2",
        f"wss://{'n' * 200}.example",
        "https://n2.carpet.example",
        "n2.carpet.example",
        "",
    ],
)
async def test_what_no_client_may_go_to_is_neither_tried_nor_remembered(server: FakeServer, url: str) -> None:
    with pytest.raises(LinkError):
        async with open_link(SECURE, KNOWN, nodes=(url,), dial=down(server, 9)):
            pass
    assert len(server.dialled_at) == 1
    assert others((url,), parse_address(SECURE)) == ()


@pytest.mark.parametrize("status", [b"404 Not Found", b"502 Bad Gateway", b"503 Service Unavailable"])
async def test_a_web_server_where_the_server_was_is_no_server(server: FakeServer, status: bytes) -> None:
    answered = False

    async def dial() -> trio.abc.Stream:
        nonlocal answered
        if answered:
            return await server.dial()
        answered = True
        ours, theirs = trio.testing.memory_stream_pair()
        await theirs.send_all(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")
        return ours

    async with open_link(URL, KNOWN, nodes=(TWO,), dial=dial) as link:
        assert (await server.greeted()).host == "n2.carpet.example:7777"
        assert link.detour is not None
        assert ("cannot take you now" in link.detour) == status.startswith(b"5")


async def test_one_who_is_refused_as_one_too_many_does_not_go_round_it(server: FakeServer) -> None:
    async def dial() -> trio.abc.Stream:
        server.dialled_at.append(0)
        ours, theirs = trio.testing.memory_stream_pair()
        await theirs.send_all(b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n")
        return ours

    with pytest.raises(LinkError, match="429"):
        async with open_link(URL, KNOWN, nodes=(TWO,), dial=dial):
            pass
    assert len(server.dialled_at) == 1


async def test_a_certificate_that_is_not_trusted_is_said_and_hidden_by_no_detour(server: FakeServer) -> None:
    with pytest.raises(NotTrusted):
        async with open_link(SECURE, KNOWN, nodes=("wss://n2.carpet.example",), dial=down(server, 9, untrusted)):
            pass
    assert len(server.dialled_at) == 1


@pytest.mark.parametrize("code", [ErrorCode.BANNED, ErrorCode.SERVER_STOPPING, ErrorCode.NAME_TAKEN])
async def test_a_player_whom_the_server_refuses_is_refused(server: FakeServer, code: ErrorCode) -> None:
    async with open_link(URL, KNOWN, nodes=(TWO,), dial=server.dial) as link:
        line = await server.line()
        await line.refuse_hello(code)
        with pytest.raises(RequestRefused) as refused:
            await link.entered()
    assert refused.value.error.code == code
    assert len(server.dialled_at) == 1


async def test_another_server_that_does_not_know_the_token_makes_no_new_player(server: FakeServer) -> None:
    kept: list[Identity] = []
    async with open_link(URL, KNOWN, nodes=(TWO,), keep=kept.append, dial=down(server, 1)) as link:
        line = await server.line()
        await line.refuse_hello(ErrorCode.UNKNOWN_TOKEN)
        with pytest.raises(RequestRefused):
            await link.entered()
    assert kept == []


async def test_the_link_leaves_a_server_that_does_not_know_the_token_for_the_next(server: FakeServer) -> None:
    async with open_link(URL, KNOWN, nodes=(TWO, THREE), dial=down(server, 1)):
        line = await server.line()
        await line.refuse_hello(ErrorCode.UNKNOWN_TOKEN)
        line = await server.line()
        assert line.host == "n3.carpet.example:7777"
        assert (await line.hello()).token == "token-1"


async def test_another_server_whose_certificate_is_not_trusted_is_passed_over(server: FakeServer) -> None:
    errors = iter((ConnectionRefusedError(111, "refused"), untrusted()))
    async with open_link(URL, KNOWN, nodes=(TWO, THREE), dial=down(server, 2, lambda: next(errors))):
        assert (await server.line()).host == "n3.carpet.example:7777"


async def test_a_server_that_sends_all_who_come_to_any_other_is_left_for_them(server: FakeServer) -> None:
    async with open_link(URL, KNOWN, nodes=(TWO,), dial=server.dial) as link, trio.open_nursery() as nursery:
        nursery.start_soon(link.entered)
        await (await server.line()).close(CloseCode.LET_GO)
        line = await server.greeted()
        assert line.host == "n2.carpet.example:7777"
        await line.say(said.Nodes(nodes=()), said.YouAre(player="p2", name="Bert", ref=0))
        # Nothing was lost that would have to be made up for.
        assert isinstance(await next_of(link, Back, YouAre), YouAre)
        assert link.detour is not None
        assert link.detour.startswith("carpet.example:7777 lets nobody in any more; joined through n2.")


async def test_whoever_all_servers_send_away_is_told_so(server: FakeServer) -> None:
    async with open_link(URL, KNOWN, nodes=(TWO,), dial=server.dial) as link:
        for _ in range(2):
            await (await server.line()).close(CloseCode.LET_GO)
        with pytest.raises(Unreachable, match=SHUT_OUT):
            await link.entered()


@pytest.mark.parametrize("reconnect", [True, False])
async def test_whoever_is_sent_to_any_other_server_is_let_in_by_the_first_that_can_be_reached(
    server: FakeServer, *, reconnect: bool
) -> None:
    async with open_link(URL, KNOWN, nodes=(TWO, THREE), reconnect=reconnect, dial=up_and_down(server, "ud")) as link:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(link.entered)
            await (await server.line()).close(CloseCode.LET_GO)
            assert (await server.greeted()).host == "n3.carpet.example:7777"
        through = "joined through n3.carpet.example:7777, one of its other servers."
        assert link.detour == f"carpet.example:7777 lets nobody in any more; {through}"


async def test_whoever_is_sent_to_servers_of_which_none_can_be_reached_is_told_so_and_the_link_tries_on(server: FakeServer) -> None:
    async with open_link(URL, KNOWN, nodes=(TWO, THREE), dial=up_and_down(server, "uddd")) as link:
        await (await server.line()).close(CloseCode.LET_GO)
        with pytest.raises(Unreachable, match=SHUT_OUT):
            await link.entered()
        assert (await server.line()).host == "n2.carpet.example:7777"


async def test_whose_connection_is_lost_before_the_welcome_is_told_so_although_others_could_be_reached(server: FakeServer) -> None:
    async with open_link(URL, KNOWN, nodes=(TWO, THREE), reconnect=False, dial=server.dial) as link:
        await (await server.line()).close(1011)
        with pytest.raises(Unreachable, match="Something went wrong"):
            await link.entered()
    assert len(server.dialled_at) == 1


async def test_a_question_without_a_hello_is_passed_on_to_the_next_server_too(server: FakeServer) -> None:
    async with trio.open_nursery() as nursery:

        async def serve() -> None:
            line = await server.line()
            await line.heard()
            await line.close(CloseCode.LET_GO)
            line = await server.line()
            assert line.host == "n3.carpet.example:7777"
            asked = await line.heard()
            assert isinstance(asked, WhoAmI)
            await line.say(YouAre(player="p1", name="Berta", ref=asked.ref))

        nursery.start_soon(serve)
        dial = up_and_down(server, "ud")
        assert await who_is(URL, KNOWN, nodes=(TWO, THREE), dial=dial) == Identity("Berta", "token-1", "p1")


async def test_a_question_after_one_that_was_answered_is_passed_on_to_no_other_server(server: FakeServer) -> None:
    async with open_link(URL, None, nodes=(TWO,), reconnect=False, dial=server.dial) as link, trio.open_nursery() as nursery:

        async def serve() -> None:
            line = await server.line()
            asked = await line.heard()
            assert isinstance(asked, WhoAmI)
            await line.say(YouAre(player="p1", name="Berta", ref=asked.ref))
            await line.heard()
            await line.close(CloseCode.LET_GO)

        nursery.start_soon(serve)
        await link.ask(WhoAmI(token="token-1"), YouAre)
        with pytest.raises(Unreachable, match="lets nobody in any more"):
            await link.ask(WhoAmI(token="token-1"), YouAre)
    assert len(server.dialled_at) == 1


async def test_a_link_that_was_lost_before_the_welcome_outlives_a_certificate_that_is_not_trusted(server: FakeServer) -> None:
    served = False

    async def dial() -> trio.abc.Stream:
        nonlocal served
        if served:
            raise untrusted()
        served = True
        return await server.dial()

    async with open_link(URL, KNOWN, nodes=(TWO, THREE), dial=dial) as link:
        await (await server.line()).close(1011)
        assert "went wrong" in (await next_of(link, Lost)).reason
        assert "is not trusted" in (await next_of(link, Lost)).reason


async def test_a_server_to_which_the_one_that_was_asked_for_sends_before_its_welcome_counts_like_it(server: FakeServer) -> None:
    async with open_link(URL, KNOWN, nodes=(FOUR,), dial=server.dial):
        line = await server.line()
        await line.heard()
        await line.say(said.Moved(url=TWO, code="ABCDEF", ref=0))
        line = await server.greeted(nodes=(THREE,))
        assert line.host == "n2.carpet.example:7777"
        await line.close(CloseCode.LET_GO)
        # Not to what was remembered.
        assert (await server.line()).host == "n3.carpet.example:7777"


async def test_what_is_remembered_counts_no_more_where_the_server_sends_to_one_that_is_down_before_its_welcome(server: FakeServer) -> None:
    kept: list[Identity] = []
    async with open_link(URL, KNOWN, nodes=(FOUR,), keep=kept.append, dial=up_and_down(server, "uddu")):
        line = await server.line()
        await line.heard()
        await line.say(said.Moved(url=TWO, code="ABCDEF", ref=0))
        line = await server.line()
        assert line.host == "n4.carpet.example:7777"
        await line.refuse_hello(ErrorCode.UNKNOWN_TOKEN)
        # It is left, and no new player made.
        with trio.fail_after(60):
            await server.line()
    assert kept == []


async def test_what_another_server_names_is_not_gone_to_unless_the_one_that_was_asked_for_has_named_it_too(server: FakeServer) -> None:
    async with open_link(URL, KNOWN, nodes=(TWO, THREE), dial=down(server, 1)) as link:
        line = await server.greeted(nodes=(FOUR, THREE))
        assert line.host == "n2.carpet.example:7777"
        link.send(JoinRace(code="ABCDEF", ref=5))
        await line.heard()
        await line.say(said.Moved(url=FOUR, code="ABCDEF", ref=5), scenes.refusal(ErrorCode.ELSEWHERE, 5))
        assert (await next_of(link, said.Error)).code == ErrorCode.ELSEWHERE
        await line.say(said.Nodes(nodes=(FOUR,)), said.Moved(url=THREE, code="ABCDEF", ref=5))
        line = await server.greeted(nodes=(FOUR,))
        hosts = [line.host]
        for _ in range(3):
            await line.close(CloseCode.LET_GO)
            line = await server.line()
            hosts.append(line.host)
        assert hosts == [f"{host}:7777" for host in ("n3.carpet.example", "carpet.example", "n2.carpet.example", "n3.carpet.example")]


async def test_once_the_server_that_was_asked_for_is_back_its_word_counts(server: FakeServer) -> None:
    kept: Kept = []
    async with open_link(URL, KNOWN, nodes=(TWO,), keep_nodes=keeping(kept), dial=down(server, 1)) as link:
        line = await server.greeted(nodes=(FOUR,))
        await next_of(link, Welcome)
        assert kept == []
        await line.close(CloseCode.LET_GO)
        line = await server.greeted(nodes=(FOUR,))
        assert line.host == "carpet.example:7777"
        await next_of(link, Lost)
        await next_of(link, Welcome)
        assert kept == [("token-1", (FOUR,))]
        await line.close(CloseCode.LET_GO)
        assert (await server.line()).host == "n4.carpet.example:7777"


async def test_only_what_the_server_itself_names_is_remembered_and_the_last_of_it(server: FakeServer) -> None:
    kept: Kept = []
    async with open_link(URL, ANNA, keep_nodes=keeping(kept), dial=server.dial) as link:
        line = await server.greeted(nodes=(TWO, URL, TWO))
        await next_of(link, Welcome)
        await line.say(said.Nodes(nodes=(THREE, TWO)))
        link.send(JoinRace(code="ABCDEF", ref=5))
        await line.heard()
        await line.say(said.Moved(url=TWO, code="ABCDEF", ref=5))
        line = await server.greeted(nodes=(FOUR,))
        await next_of(link, Welcome)
        await line.say(said.Nodes(nodes=(FOUR,)))
    assert kept == [("token-1", (TWO,)), ("token-1", (THREE, TWO))]


async def test_a_guest_whose_token_nobody_has_heard_remembers_nothing(server: FakeServer) -> None:
    kept: Kept = []
    async with open_link(URL, None, watches=True, keep_nodes=keeping(kept), dial=server.dial) as link:
        line = await server.line()
        assert isinstance(await line.heard(), Hello)
        await line.say(replace(welcome(name="", token=""), player="", nodes=(TWO,)))
        await next_of(link, Welcome)
    assert kept == []


async def test_a_server_that_takes_the_player_for_another_is_not_heard(server: FakeServer) -> None:
    kept: Kept = []
    async with open_link(URL, KNOWN, keep_nodes=keeping(kept), dial=server.dial) as link:
        await server.greeted(token="another", nodes=(TWO,))
        await next_of(link, Welcome)
    assert kept == []


async def test_who_one_is_can_be_asked_at_another_server(server: FakeServer, capsys: pytest.CaptureFixture[str]) -> None:
    async with trio.open_nursery() as nursery:

        async def serve() -> None:
            line = await server.line()
            assert line.host == "n2.carpet.example:7777"
            asked = await line.heard()
            assert isinstance(asked, WhoAmI)
            assert asked.token == "token-1"
            await line.say(YouAre(player="p1", name="Berta", ref=asked.ref))

        nursery.start_soon(serve)
        assert await who_is(URL, KNOWN, nodes=(TWO,), dial=down(server, 1)) == Identity("Berta", "token-1", "p1")
    told = " ".join(capsys.readouterr().err.split())
    assert told == "carpet.example:7777 does not answer; joined through n2.carpet.example:7777, one of its other servers."


async def test_another_server_that_knows_nobody_does_not_speak_for_the_one_that_was_asked(server: FakeServer) -> None:
    async with trio.open_nursery() as nursery:

        async def serve() -> None:
            line = await server.line()
            asked = await line.heard()
            assert isinstance(asked, WhoAmI)
            await line.say(scenes.refusal(ErrorCode.UNKNOWN_TOKEN, asked.ref))

        nursery.start_soon(serve)
        with pytest.raises(NotAnswered) as failed:
            await who_is(URL, KNOWN, nodes=(TWO,), dial=down(server, 1))
    assert not isinstance(failed.value, NotKnown)
    assert "Your next visit makes a new player" not in str(failed.value)
