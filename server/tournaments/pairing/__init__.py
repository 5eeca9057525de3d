"""Pairings and standings. Pure: from results to rounds and places."""
