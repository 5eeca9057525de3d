"""The screens: `update` makes the player's side of what is heard and done, `view` a picture of both, and an adapter shows it by urwid."""
