"""Rooms, where players of a race meet. A pure core decides (`core`), a driver commits and delivers (`driver`), a registry lists them."""
