"""The host's side of Carpet Race: rules, races, rooms, the listener and the `carpet-server` command."""
