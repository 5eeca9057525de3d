"""What is kept on this machine: who the player is, their evidence, records, bests, and the commitments they were shown."""
