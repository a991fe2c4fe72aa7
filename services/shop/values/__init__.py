"""The value types that services and their clients share: the data of the contract, independent of the protocol.

All of them are frozen structs, which the garbage collector skips: they only hold other values, so they form no cycles.
"""
