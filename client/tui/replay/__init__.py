"""The replay of a race, on the screen and as a file. Pure."""
