"""Races alone on a deal that others run too, each once and at his own time: deals of the day, and challenges."""
