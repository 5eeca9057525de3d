"""The client follows what the player looks at, over connections that come and go."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from client.tui.actions import Send
from client.tui.step import Step
from client.tui.subscriptions import FOLLOW_REFERENCE, follow_tournament_view, followed, unsent
from client.tui.tournament_view_state import TournamentView
from client.tui.ui_state import Ui
from protocol.tournament_messages import FollowTournament, FollowTournaments
from tests.client import scenes

TOURNAMENTS = st.sampled_from(
    [None, TournamentView(), TournamentView("KWPRTM"), TournamentView("KWPRTM", round=2), TournamentView("PLMNBV")]
)


class Server:
    """What it sends news of, as far as it has been asked."""

    def __init__(self) -> None:
        self.lists = False
        self.one: tuple[str, int | None] | None = None

    def hear(self, effect: object) -> None:
        assert isinstance(effect, Send)
        match effect.message:
            case FollowTournaments(follow=follow, ref=ref):
                assert ref == FOLLOW_REFERENCE
                self.lists = follow
            case FollowTournament(id=id_, round=round_, follow=follow):
                self.one = (id_, round_) if follow else None
            case message:
                raise AssertionError(message)


@given(st.lists(st.tuples(TOURNAMENTS, st.booleans(), st.booleans(), st.booleans()), max_size=20))
def test_what_is_looked_at_is_followed_and_nothing_else(steps: list[tuple[TournamentView | None, bool, bool, bool]]) -> None:
    """The model is a server whose connections come and go and lose what is sent."""
    server, ui = Server(), Ui()
    for view_state, looks, is_up, is_new in steps:
        state = scenes.at_home() if looks else scenes.waiting()
        step = Step(state, replace(ui, tournament_view=view_state), 0)
        if is_new:
            server = Server()
            step = followed(step, tournaments=False, tournament=None)
        for up in (is_up, True):
            step = follow_tournament_view(replace(step, effects=()))
            for effect in step.effects:
                if up:
                    server.hear(effect)
                else:
                    assert isinstance(effect, Send)
                    step = unsent(step, effect.message)
        ui = step.ui
        assert server.lists is (looks and view_state is not None and view_state.id is None)
        assert server.one == ((view_state.id, view_state.round) if looks and view_state is not None and view_state.id is not None else None)
