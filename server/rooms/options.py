"""Which options a room can be opened with, beyond what their types say. House bots are checked in `bots`."""

from __future__ import annotations

from protocol.errors import ErrorCode, Refusal
from protocol.text import clean_chat
from protocol.views import RaceOptions
from server.rules.catalogue import UnknownRules, rule_set


def check_options(options: RaceOptions) -> None:
    """Raises Refusal for a deal's name that is unfit to be shown, an unknown rule set, an impossible winnable deal, and a series that
    cannot be raced.
    """
    # The name is shown to others. It is refused rather than cleaned, since another name would be another deal.
    if options.deal is not None and clean_chat(options.deal) != options.deal:
        raise Refusal(ErrorCode.BAD_OPTIONS, "a deal's name is one line of printable text", path="$.options.deal")
    try:
        rules = rule_set(options.rules)
    except UnknownRules as error:
        raise Refusal(ErrorCode.UNKNOWN_RULES, str(error), path="$.options.rules") from error
    if options.winnable and options.deal is not None:
        raise Refusal(ErrorCode.BAD_OPTIONS, "a named deal is always the same one, winnable or not", path="$.options.winnable")
    if options.winnable and not rules.solvable:
        raise Refusal(ErrorCode.BAD_OPTIONS, f"winnable deals are not offered under {options.rules}", path="$.options.winnable")
    _check_series(options)


def _check_series(options: RaceOptions) -> None:
    what = ""
    match options.series.format:
        case "single" if options.series.races != 1:
            what = "a single race is one; best-of, session and swap have more"
        case "best-of" if options.series.races < 3 or options.series.races % 2 == 0:
            what = f"best of {options.series.races} is none: take an odd number from 3 on"
        case "best-of" if options.seats < 2:
            what = "best of some races takes two seats at least; one alone can have a session"
        case "session" if options.series.races < 2:
            what = "a session has two races at least"
        case "swap" if options.series.races != 2 or options.seats != 2:
            what = "a swap is two races of two seats"
        case "swap" if options.deal is not None or options.winnable:
            what = "a swap is played on two deals that nobody can know or choose, winnable or not"
    if what:
        raise Refusal(ErrorCode.BAD_OPTIONS, what, path="$.options.series")
