"""Checks of the shop and the instrument in cases where the truth is known, and benchmarks of the instrument."""
