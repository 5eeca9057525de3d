"""The race as a pure state machine: commands and times go in, events come out. Nothing here waits, sends or draws random numbers."""
