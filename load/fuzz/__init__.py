"""Sends bad inputs to everything that takes input from strangers, and looks at what comes of them.

python -m fuzz --minutes 10
"""
