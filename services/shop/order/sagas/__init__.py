"""The checkout and the cancellation, step by step, and how what a crash left of them goes on."""
