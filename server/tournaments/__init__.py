"""Tournaments. `commands` turns requests into `events`, `state` is the fold over them, `pairing` makes rounds and standings, `views` makes
what others are told; all of that is pure. `director` runs one tournament, `service` all of them.
"""
