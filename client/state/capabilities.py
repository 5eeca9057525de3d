"""What a server offers: rule sets, bots and winnable deals, looked up by name; and what to say if it has no such thing. Pure."""

from __future__ import annotations

from difflib import get_close_matches

from client.connection.errors import Failure
from protocol.server_messages import Welcome
from protocol.text import clean_name
from protocol.views import BotInfo, RaceOptions, RulesInfo


class UnknownBot(Failure):
    """There is no house bot of that name; the text lists the bots."""


class UnknownRules(Failure):
    """There is no rule set with that id; the text lists the rule sets."""


class NotSolvable(Failure):
    """No winnable deals are looked for under that rule set; the text lists the rule sets that have them."""


def rules_of(infos: tuple[RulesInfo, ...], rules_id: str) -> RulesInfo | None:
    """The rule set with this id; None if the server has not described it."""
    return next((info for info in infos if info.id == rules_id), None)


def check_rules(rules_id: str, infos: tuple[RulesInfo, ...]) -> RulesInfo:
    """The server's description of a rule set. Raises UnknownRules."""
    info = rules_of(infos, rules_id)
    if info is None:
        raise UnknownRules(_none("rule set", rules_id, [each.id for each in infos]))
    return info


def check_bot(name: str, bots: tuple[BotInfo, ...]) -> None:
    """Raises UnknownBot."""
    if name not in [bot.name for bot in bots]:
        raise UnknownBot(_none("bot", name, [bot.name for bot in bots]))


def _none(what: str, name: str, known: list[str]) -> str:
    """That there is none of that name, with the nearest one and with all there are."""
    near = {each.casefold(): each for each in known}
    nearest = [clean_name(near[each]) for each in get_close_matches(name.casefold(), near, n=1)]
    asked = f"There is no {what} {'named ' if what == 'bot' else ''}{clean_name(name)!r}"
    said = f": do you mean {nearest[0]}? The" if nearest else "; the"
    return f"{asked}{said} {what}s are: {', '.join(map(clean_name, known)) or 'none at all'}."


def is_solvable(rules_id: str, infos: tuple[RulesInfo, ...]) -> bool:
    """Whether a race under this rule set can ask for a winnable deal."""
    info = rules_of(infos, rules_id)
    return info is not None and info.solvable


def check_options(options: RaceOptions, welcome: Welcome) -> None:
    """Check that the server offers what the options of a new race ask for. Raises UnknownBot, UnknownRules, NotSolvable."""
    for name in options.bots:
        check_bot(name, welcome.bots)
    info = check_rules(options.rules, welcome.rules)
    if options.winnable and not info.solvable:
        known = ", ".join(clean_name(each.id) for each in welcome.rules if each.solvable) or "none at all"
        raise NotSolvable(f"There are no winnable deals under {clean_name(info.id)!r}; the rule sets with them are: {known}.")
