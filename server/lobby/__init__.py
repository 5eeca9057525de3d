"""Who is here, under which name, and which races can be joined."""
