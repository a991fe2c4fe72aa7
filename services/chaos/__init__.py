"""Kills the order service again and again while customers check out, and looks whether anything was lost or doubled.

python -m chaos --kills 200
"""
