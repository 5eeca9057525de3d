"""What kind of race is asked for on the command line, checked before anything is started: what does not fit is one sentence."""

from __future__ import annotations

from typing import Any

from client.cli.shared import MISUSED, fail


def race_options(**fields: object) -> Any:
    """RaceOptions of these fields, by the limits that the wire has for them."""
    import msgspec

    from protocol.text import clean_chat
    from protocol.views import RATED_DELAY_S, RaceOptions

    if fields.get("winnable") and fields.get("deal") is not None:
        fail("--winnable and --deal do not go together: a deal by name is what it is.", MISUSED)
    try:
        options = msgspec.convert(fields, RaceOptions)
    except msgspec.ValidationError as error:
        # "Expected `str` of length <= 100 - at `$.deal`"
        what, _, where = str(error).replace("`str`", "a text").partition(" - at `$.")
        option = {"bots": "bot"}.get(name := where.rstrip("`").split("[")[0], name).removesuffix("_s").replace("_", "-")
        fail(f"--{option} does not fit: {what[0].lower()}{what[1:]}.", MISUSED)
    if options.deal is not None and clean_chat(options.deal) != options.deal:
        # Not cleaned but refused, as servers do: another name would be another deal.
        fail("--deal does not fit: a deal's name is one line of printable text.", MISUSED)
    if options.swaps and options.seats != 2:
        fail("--swap is for two players: --seats does not go with it.", MISUSED)
    if options.swaps and (options.deal is not None or options.winnable):
        fail("--swap takes two deals that nobody can know or choose: --deal and --winnable do not go with it.", MISUSED)
    if options.series.format == "best-of" and options.seats < 2:
        fail("--best-of is for two players at least; alone, play a --session.", MISUSED)
    if options.unrated_because == "early-boards":
        fail(f"In a race for ratings boards are shown {RATED_DELAY_S} s late at least: add --unrated, or a longer --delay.", MISUSED)
    return options


def series_fields(best_of: int | None, session: int | None, *, swap: bool, grace_s: int | None = None) -> dict[str, object]:
    """The fields of SeriesOptions; none for a single race. grace_s: None for the usual one."""
    from protocol.views import MAX_SERIES_RACES

    if (best_of is not None) + (session is not None) + swap > 1:
        fail("--best-of, --session and --swap are three kinds of series: choose one.", MISUSED)
    grace = {} if grace_s is None else {"grace_s": grace_s}
    if best_of is not None:
        if not 3 <= best_of <= MAX_SERIES_RACES or best_of % 2 == 0:
            fail(f"--best-of takes an odd number from 3 to {MAX_SERIES_RACES}, not {best_of}.", MISUSED)
        return {"format": "best-of", "races": best_of, **grace}
    if session is not None:
        if not 2 <= session <= MAX_SERIES_RACES:
            fail(f"--session takes a number from 2 to {MAX_SERIES_RACES}, not {session}.", MISUSED)
        return {"format": "session", "races": session, **grace}
    if not swap and grace_s is not None:
        fail("--series-grace is for a series: --best-of, --session or --swap.", MISUSED)
    return {"format": "swap", "races": 2, **grace} if swap else {}
