"""The plan of an experiment: arms, blocks, profile, load."""
