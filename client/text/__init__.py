"""What values mean to a person: words, tables and statistics. Pure."""
