"""The race as a pure state machine: commands and the time go in, events come out; nothing here waits, sends or draws lots."""
