"""The player's commands, `carpet`: what is typed, checked and turned into calls."""
