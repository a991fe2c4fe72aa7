"""Measures how long each journey's answer takes to encode and decode in each encoding, in Python and in Go.

python -m serialisation
"""
