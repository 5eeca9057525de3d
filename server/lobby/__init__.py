"""Who is here, under which name, which races can be joined, and who looks for an opponent."""
