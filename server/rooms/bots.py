"""The house bots that a room's options ask for, and the seats they are for: the last ones. How one plays is `bot_player`'s affair."""

from __future__ import annotations

from protocol.errors import ErrorCode, Refusal
from protocol.views import RaceOptions
from server.bots.house import HouseBot, UnknownBot, house_bot
from server.rooms.bot_player import Asking, BotPlayer
from server.rooms.member import PlayerName
from server.rooms.ports import RoomPorts


def house_bots(options: RaceOptions, *, alone: bool = False) -> dict[int, HouseBot]:
    """By seat. alone: they may have all seats. Raises Refusal for an unknown bot, and when no seat is left for the opener."""
    if len(options.bots) >= options.seats + alone:
        raise Refusal(ErrorCode.BAD_OPTIONS, f"{len(options.bots)} bots leave no seat of {options.seats}", path="$.options.bots")
    try:
        bots = [house_bot(name) for name in options.bots]
    except UnknownBot as error:
        raise Refusal(ErrorCode.UNKNOWN_BOT, str(error), path="$.options.bots") from error
    return dict(enumerate(bots, options.seats - len(bots)))


def house_player(seat: int, bot: HouseBot, *, rules: str, ports: RoomPorts, ask: Asking) -> BotPlayer:
    """The bot as a member of a room under these rules, for one seat."""
    return BotPlayer(
        player=PlayerName(house_id(seat), bot.name),
        bot=bot,
        rules=rules,
        seed=int.from_bytes(ports.entropy(8), "big"),
        waits=ports.bots_wait,
        thoughts=ports.thoughts,
        ask=ask,
    )


def house_id(seat: int) -> str:
    """Of the bot on this seat: the same in every server that the race goes through."""
    return f"bot:{seat}"
