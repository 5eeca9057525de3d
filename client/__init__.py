"""The player's side of Carpet Race: the connection, the model of what was heard, the screens and the `carpet` command."""
