"""Sends bad inputs to everything that takes input from strangers, and judges the results.

python -m fuzz --minutes 10
"""
