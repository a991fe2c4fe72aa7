"""The value types that services and their clients share: what the contract carries, whatever the protocol.

All are frozen structs, which the garbage collector skips: they hold other values only, so no cycle begins at one.
"""
