"""Kills order and notification again and again while customers buy, and checks that nothing was lost or done twice.

python -m chaos --kills 200
"""
