"""What messages cost the codec alone: `python -m tests.bench.codec_speed` from the top of the tree.

For each message of a race of `carpet`, as it is halfway or at the end: its bytes, and the microseconds of processor time to encode it like
its sender and to decode it like its receiver, in both encodings; the best of five runs. `by maps` is the time msgpack itself takes for a
message that has been turned into maps, as in a program without msgspec: the ratio says more than the times.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import thread_time
from typing import Any, Final

import msgpack
import msgspec

from protocol.client_messages import ClientMessage, Move
from protocol.codec import MSGPACK, SUBPROTOCOLS, client_message_decoder, encode, server_message_decoder
from protocol.server_messages import ServerMessage
from server.race.events import MovePlayed
from server.race.view import snapshot, tell, tell_apart
from tests.server.race.racing import WINNABLE, greedy_line, started

RUNS: Final = 5
TIMES: Final = 1_000
HALFWAY: Final = 24


def messages() -> dict[str, ClientMessage | ServerMessage]:
    line = greedy_line(WINNABLE)
    driven = started()
    driven.play(1, line[:HALFWAY], 500)
    *_, event = driven.play(0, line[:HALFWAY], 1_000)
    assert isinstance(event, MovePlayed)
    own, others = tell_apart(event, version=60, now=0, sealed=False)
    room = snapshot(driven.race, version=60, viewer=0, now=0, again=frozenset(), chat=())
    driven.play(0, line[HALFWAY:], 2_000)
    driven.finish()
    result = tell(driven.events[-1], version=99, viewer=0, now=0, sealed=False)
    return {
        "move": Move(race=1, seat=0, ply=HALFWAY, move=line[HALFWAY], ref=60),
        "view": own,
        "progress": others,
        "room, whole": room,
        "result, with its record": result,
    }


def microseconds(act: Callable[[], object]) -> float:
    """The time of one call."""
    found = []
    for _ in range(RUNS):
        began = thread_time()
        for _ in range(TIMES):
            act()
        found.append((thread_time() - began) / TIMES * 1e6)
    return min(found)


def by_maps(message: Any) -> bytes:
    packed: bytes = msgpack.packb(msgspec.to_builtins(message))
    return packed


def main() -> None:
    print(f"{'message':<24} {'encoding':<17} {'bytes':>6} {'encode µs':>9} {'by maps':>8} {'decode µs':>9}")
    for name, message in messages().items():
        for subprotocol in SUBPROTOCOLS:
            decoder: Any = (client_message_decoder if isinstance(message, Move) else server_message_decoder)(subprotocol)
            data = encode(message, subprotocol)
            assert decoder.decode(data) == message
            encoded = microseconds(partial(encode, message, subprotocol))
            maps = f"{microseconds(partial(by_maps, message)):.2f}" if subprotocol == MSGPACK else ""
            decoded = microseconds(partial(decoder.decode, data))
            print(f"{name:<24} {subprotocol:<17} {len(data):>6} {encoded:>9.2f} {maps:>8} {decoded:>9.2f}")


if __name__ == "__main__":
    main()
