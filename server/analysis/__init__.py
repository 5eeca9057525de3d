"""Deals and games looked at with every card known: win rates, reviews, frames of a replay."""
