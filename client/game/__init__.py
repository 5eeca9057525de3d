"""What a player may do, from the view alone. Pure."""
