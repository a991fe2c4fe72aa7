"""What it takes to write and read each journey's answer in each encoding, in Python and in Go.

python -m serialisation
"""
