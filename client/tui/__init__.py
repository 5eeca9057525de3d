"""The screens: `update` works out the player's side from what is heard and done, `view` draws it, an adapter shows the picture by urwid."""
