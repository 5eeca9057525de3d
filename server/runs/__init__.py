"""Races alone on a deal that others run too, each once and at their own time: deals of the day, and challenges."""
