"""The host's commands, `carpet-server`: they check what was typed and turn it into calls."""
