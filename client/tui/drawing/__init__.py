"""How things look: lines of roles, cards, bars, curves, colours, and what moves between two pictures. Knows nothing of screens. Pure."""
