"""What an experiment will do: arms, blocks, profile, load."""
