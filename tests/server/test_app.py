"""The server put together: it starts, races, and ends in order; wrong settings are said in a sentence."""

from __future__ import annotations

import math

import pytest
import trio
from websockets.trio.client import connect
from websockets.typing import Subprotocol

from protocol.codec import MSGPACK
from protocol.record import check_deal, digest
from protocol.server_messages import Result, Started
from server.app import SOFTWARE, running
from server.config import BadSettings, Settings
from server.net.listener import AddressUnavailable
from server.race.audit import audit
from tests.server.net.wire import Client


@pytest.mark.e2e
async def test_a_race_against_a_bot_over_a_real_socket_gives_a_record_that_holds() -> None:
    async with (
        running(Settings(port=0, bots_wait=False, rate=1e6, burst=1_000_000)) as url,
        connect(url, subprotocols=[Subprotocol(MSGPACK)]) as line,
    ):
        assert url.startswith("ws://127.0.0.1:")
        ann = Client(line)
        assert (await ann.hello("Ann")).software == SOFTWARE
        await ann.open(seats=2, bots=("random",), countdown_s=1)
        await ann.ready()
        await ann.hear_of(Started)
        for _ in range(300):
            if not ann.view or not ann.view.moves:
                break
            await ann.move(ann.view.moves[0])
            played = ann.ply
            while ann.ply == played:
                await ann.hear()
        record = next((message.record for message in ann.heard if isinstance(message, Result)), None)
        if record is None:
            record = (await ann.hear_of(Result)).record
        assert record.software == SOFTWARE
        assert record.digest == digest(record)
        check_deal(record.deal)
        audit(record)


@pytest.mark.e2e
async def test_an_ipv6_address_is_written_as_one() -> None:
    try:
        async with running(Settings(host="::1", port=0)) as url:
            assert url.startswith("ws://[::1]:")
    except* AddressUnavailable:
        pytest.skip("no IPv6 here")


@pytest.mark.e2e
async def test_cancelling_a_server_leaves_no_task_behind() -> None:
    with trio.move_on_after(30) as scope:
        async with running(Settings(port=0)) as url, connect(url, subprotocols=[Subprotocol(MSGPACK)]) as line:
            await Client(line).hello("Ann")
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught


@pytest.mark.parametrize(
    ("settings", "option"),
    [
        ({"port": -1}, "--port"),
        ({"port": 65536}, "--port"),
        ({"tls_cert": "cert.pem"}, "--tls-cert"),
        ({"tls_key": "key.pem"}, "--tls-key"),
        ({"rate": 0.0}, "--rate"),
        ({"rate": -1.0}, "--rate"),
        ({"rate": math.nan}, "--rate"),
        ({"rate": math.inf}, "--rate"),
        ({"burst": 0}, "--burst"),
        ({"max_rooms": 0}, "--max-rooms"),
    ],
)
def test_settings_that_cannot_be_name_the_option_to_change(settings: dict[str, object], option: str) -> None:
    with pytest.raises(BadSettings) as bad:
        Settings(**settings)  # type: ignore[arg-type]
    assert option in str(bad.value)
    assert "\n" not in str(bad.value)
