"""The player's commands, `carpet`: what is typed is checked here and turned into calls."""
