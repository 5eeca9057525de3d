"""Rooms: where the players of a race meet. A pure core decides (`core`), a driver keeps and delivers (`driver`), a registry lists them."""
