"""The bare frameworks that the platform is measured against.

Each answers as its service does, in the way that the framework's own documentation shows: the same routes, messages,
headers of answers and SQL on the same library versions and event loop, and nothing of `shop.platform` on the way of a
request: no deadline, caller, trace, pool or error table. A connection is taken from a list, and there is one for every
request under way.
"""
