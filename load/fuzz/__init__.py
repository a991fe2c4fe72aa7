"""Sends bad inputs to every program that accepts untrusted input, and judges the results.

python -m fuzz --minutes 10
"""
