"""How values are put for a person: words, tables and statistics. Pure."""
