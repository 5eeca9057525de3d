"""The host's commands, `carpet-server`: what is typed, checked and turned into calls."""
