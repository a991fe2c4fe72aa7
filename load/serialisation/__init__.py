"""Measures encoding and decoding of each journey's answer in each encoding, in Python and in Go.

python -m serialisation
"""
