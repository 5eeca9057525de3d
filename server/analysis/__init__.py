"""Analysis of deals with every card known: win rates."""
