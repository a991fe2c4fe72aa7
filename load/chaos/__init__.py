"""Kills the order service again and again while customers check out, and checks that nothing was lost or done twice.

python -m chaos --kills 200
"""
