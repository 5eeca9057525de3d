"""Rooms: where the players of a race meet. One task and one bounded inbox a room; it alone touches its race, and so there are no locks."""
