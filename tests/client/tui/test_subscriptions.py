"""What is followed is what is looked at, over connections that come and go."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from client.tui.actions import Send
from client.tui.step import Step
from client.tui.subscriptions import HALL_REFERENCE, follow_hall, followed, unsent
from client.tui.tournament_view_state import Hall
from client.tui.ui_state import Ui
from protocol.tournament_messages import FollowTournament, FollowTournaments
from tests.client import scenes

HALLS = st.sampled_from([None, Hall(), Hall("KWPRTM"), Hall("KWPRTM", round=2), Hall("PLMNBV")])


class Server:
    """What it sends news of, as far as it has been asked."""

    def __init__(self) -> None:
        self.lists = False
        self.one: tuple[str, int | None] | None = None

    def hear(self, effect: object) -> None:
        assert isinstance(effect, Send)
        match effect.message:
            case FollowTournaments(follow=follow, ref=ref):
                assert ref == HALL_REFERENCE
                self.lists = follow
            case FollowTournament(id=id_, round=round_, follow=follow):
                self.one = (id_, round_) if follow else None
            case message:
                raise AssertionError(message)


@given(st.lists(st.tuples(HALLS, st.booleans(), st.booleans(), st.booleans()), max_size=20))
def test_what_is_looked_at_is_followed_and_nothing_else(steps: list[tuple[Hall | None, bool, bool, bool]]) -> None:
    """As a server would have it, over connections that come and go and lose what is sent."""
    server, ui = Server(), Ui()
    for hall, looks, is_up, is_new in steps:
        state = scenes.at_home() if looks else scenes.waiting()
        step = Step(state, replace(ui, hall=hall), 0)
        if is_new:
            server = Server()
            step = followed(step, tournaments=False, tournament=None)
        for up in (is_up, True):
            step = follow_hall(replace(step, effects=()))
            for effect in step.effects:
                if up:
                    server.hear(effect)
                else:
                    assert isinstance(effect, Send)
                    step = unsent(step, effect.message)
        ui = step.ui
        assert server.lists is (looks and hall is not None and hall.id is None)
        assert server.one == ((hall.id, hall.round) if looks and hall is not None and hall.id is not None else None)
