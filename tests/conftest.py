"""What holds for every test: how long something takes is no fault of it, and how hypothesis is to take that."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A machine that is busy with something else may hold up any example, and the finding of one, for as long as it likes.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")
