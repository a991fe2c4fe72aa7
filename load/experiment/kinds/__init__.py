"""The kinds of experiments: the arms, the settings and the command of each in one place, and a line for each here."""

#: Where the function `command` of each kind is, below this folder, and what it does.
KINDS = {
    "bench": ("bench", "Measure one topology: latency, hop budget, gates. Exit code 3 if WRONG."),
    "compare": (
        "compare",
        "Compare topologies under identical load, in randomized blocks. Exit code 3 if WRONG, 4 if the precision was "
        "not reached.",
    ),
    "ladder": (
        "ladder",
        "Add edge, sidecars, mTLS and Istio one by one, take tracing and database away, and measure each step twice. "
        "Exit code 3 if WRONG.",
    ),
    "rtt": (
        "rtt",
        "Compare topologies at several round-trip times from their customers, and compare the predicted break-even "
        "distances with the measured ones. Exit code 3 if WRONG.",
    ),
    "rates": (
        "rates",
        "Compare topologies at several rates: latency and CPU over load, at which rate their ranking flips, and "
        "what is full first. Exit code 3 if WRONG.",
    ),
    "isolate": (
        "isolate",
        "Measure how much faster other journeys get without one kind, and compare that with the prediction. "
        "Exit code 3 if WRONG.",
    ),
    "studies": (
        "studies",
        "Replay published studies by their own designs, and give each of their claims a verdict. Exit code 3 if WRONG.",
    ),
    "sweep": (
        "sweep",
        "Find the highest rate that each topology sustains. Exit code 3 if one was not confirmed, or is WRONG.",
    ),
    "stress": (
        "stress",
        "Load topologies with more and more users in a closed loop, and count failures. Exit code 3 if WRONG.",
    ),
    "overload": (
        "overload",
        "Load topologies with several times what they hold, and say what still works and how soon they recover. "
        "Exit code 3 if WRONG.",
    ),
    "connections": ("connections", "Hold open connections, and say how much memory each component uses."),
    "watch": (
        "watch",
        "Let customers wait for news of their orders, by streams and by polling: how late it arrives, what it "
        "costs. Exit code 3 if WRONG.",
    ),
    "chaos": (
        "chaos",
        "Put topologies under faults: what fails, how soon they recover, and whether data were lost. Exit "
        "code 1 if something was lost or doubled, 3 if WRONG.",
    ),
    "soak": (
        "soak",
        "Keep topologies under load for long, and say what grows: memory, descriptors, threads, connections, latency. "
        "Exit code 3 if something does.",
    ),
    "compare-runs": (
        "two_runs",
        "Compare two runs of one tape. Exit code 4 if b is shown to be slower by more than the threshold.",
    ),
    "decide": (
        "decide",
        "Say which topology to choose, by channel, network and mix. Exit code 3 if WRONG.",
    ),
}
