"""The screens before a race: the menu, the home screen, the form for a race, the deal of the day, the player's own page. Pure."""
