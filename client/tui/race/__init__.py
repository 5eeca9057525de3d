"""The screens of a race, from the waiting room to the result, and the spectator's. Pure."""
