"""The lobby: who is here, under which name, which races can be joined, and who is looking for an opponent."""
