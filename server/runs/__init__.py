"""Runs: solo races on a deal that others run too, each once and in their own time. Deals of the day, and challenges."""
