"""Deals and games looked at with every card known: win rates, frames of a replay."""
