"""What is kept on this machine: who the player is, records, bests, commitments."""
