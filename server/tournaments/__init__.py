"""Tournaments. `commands` says which `events` a request causes, `state` is the fold over them, `pairing` says who meets whom and who stands
where, `views` what others are told: all of that is pure. `director` runs one tournament, `service` all of them.
"""
