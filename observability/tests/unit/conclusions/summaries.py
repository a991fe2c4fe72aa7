"""Summaries made by hand: two or three topologies, one journey, and the comparisons between them."""

from __future__ import annotations


def cell(p50, waves=1.0):
    names = ("mean", "p50", "p90", "p95", "p99", "p99_9")
    values = {name: p50 * factor for name, factor in zip(names, (1.1, 1, 2, 2.5, 4, 6), strict=True)}
    return {
        "count": 1000, "errors": dict.fromkeys(("client", "server", "timeout", "wrong_answer"), 0),
        "requests_per_journey": waves, "waves_mean": waves,
        "parallel_mean": 1.0,
        "bytes_in_mean": 1.0, "bytes_in_raw_mean": 1.0, "bytes_out_mean": 1.0, "wire_in_mean": None,
        "wire_out_mean": None, "latency_ms": {**values, "max": p50 * 9},
        "latency_ci95": {name: [value * 0.9, value * 1.1] for name, value in values.items()},
        "budget_ms": {"mean": {}, "p50_band": {}, "p99_band": {}}, "net_of_tracing": {}, "traced_mean_ms": None,
        "traces": 0,
    }  # fmt: skip


def comparison(journey, metric, left, right, values, ci95, p_corrected, verdict, reason=None, visible_ratio=None):
    mine, other = values
    known = ci95[0] is not None
    return {
        "journey": journey, "metric": metric, "left": left, "right": right, "left_value": mine, "right_value": other,
        "difference": mine - other, "ci95": ci95, "ratio": mine / other,
        "ratio_ci95": [1 + ci95[0] / other, 1 + ci95[1] / other] if known else [None, None], "p": p_corrected,
        "p_corrected": p_corrected, "freedom": None if p_corrected is None else 4, "visible_ratio": visible_ratio,
        "effect": 0.7, "verdict": verdict, "reason": reason,
    }  # fmt: skip


def part(name, left, right, reach=0.3):
    difference = left - right
    return {
        "part": name, "left_ms": left, "right_ms": right, "difference_ms": difference,
        "ci95": [difference - reach, difference + reach],
    }  # fmt: skip


def split(journey, left, right, groups, reach=0.5):
    difference = sum(group["difference_ms"] for group in groups)
    return {
        "journey": journey, "left": left, "right": right, "traces": [200, 200], "difference_ms": difference,
        "ci95": [difference - reach, difference + reach], "parts": groups, "groups": groups,
    }  # fmt: skip


def summary(medians, comparisons, hops=(), *, valid=True, blocks=5, waves=None, closed=None, speeds=None):
    """Makes a summary of topologies with these medians of `order_history`.

    Args:
        medians: Median by topology, ms.
        comparisons: Comparisons between them.
        hops: Hop differences between them.
        valid: Whether the gate passes.
        blocks: How many blocks there are.
        waves: Round trips by topology.
        closed: The closed loop; None for an open one.
    """
    waves = waves or {}
    return {
        "schema": 3, "name": "compare", "kind": "compare", "blocks": blocks,
        "verdicts": [
            {
                "block": 1, "topology": name, "attempt": 1, "used": True, "verdict": "VALID" if valid else "NOISY",
                "reasons": [] if valid else ["steal_share"], "machine_speed": speeds[name] if speeds else 1.0,
            }
            for name in medians
        ],
        "mode": "open" if closed is None else "closed", "closed": closed, "verdict": "VALID" if valid else "NOISY",
        "gates": [{"name": "steal_share", "value": 0.0 if valid else 0.31, "limit": 0.02, "ok": valid}],
        "gates_left_out": [], "tape": {"sha256": "0" * 64}, "switches": {},
        "topologies": {
            name: {
                "throughput_per_s": 20.0, "errors": {}, "cpu_ms_per_journey": {}, "rss_mb": {},
                "cost": {"total": {"value": p50 / 4, "ci95": [p50 / 5, p50 / 3]}}, "wire": None, "sidecars": {},
                "journeys": {"order_history": cell(p50, waves.get(name, 1.0)), "all": cell(p50, waves.get(name, 1.0))},
            }
            for name, p50 in medians.items()
        },
        "observer_effect_ms": {"p50": 0.8, "ci95": [0.5, 1.1], "topologies": {}}, "comparisons": list(comparisons),
        "hop_differences": list(hops),
    }  # fmt: skip
