"""The checkout and the cancellation, step by step, and how they are resumed after a crash."""
