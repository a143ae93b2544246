"""How much of a batch each task gets (paper, Sec. 2.7)."""

from collections.abc import Collection, Mapping


def task_weights(kind: str, window_counts: Mapping[str, int], targeted: Collection[str] | None = None, target_mass: float | None = None) -> dict[str, float]:
    """Probability of each task; sums to 1.

    Args:
        kind: "frames", P(task) ~ number of windows (the paper's base sampling); "sqrt", ~ its square root; "uniform", the same for each
            (coverage-aware); "targeted", `target_mass` shared evenly by the `targeted` tasks and the rest evenly by the others.
        window_counts: windows of each task, all >= 1.
    Raises:
        ValueError: unknown kind, a task without windows, unknown or missing targeted tasks, a mass outside [0, 1].
    """
    empty = sorted(t for t, n in window_counts.items() if n < 1)
    if not window_counts or empty:
        raise ValueError(f"no windows to sample from{': ' + ', '.join(empty) if empty else ''}; collect longer or more episodes")
    match kind:
        case "frames":
            raw = {t: float(n) for t, n in window_counts.items()}
        case "sqrt":
            raw = {t: float(n) ** 0.5 for t, n in window_counts.items()}
        case "uniform":
            raw = dict.fromkeys(window_counts, 1.0)
        case "targeted":
            raw = _targeted(window_counts, targeted or (), target_mass)
        case _:
            raise ValueError(f"unknown sampling {kind!r}; known: frames, sqrt, uniform, targeted")
    whole = sum(raw.values())
    return {t: w / whole for t, w in raw.items()}


def _targeted(window_counts: Mapping[str, int], targeted: Collection[str], mass: float | None) -> dict[str, float]:
    if mass is None or not 0.0 <= mass <= 1.0:
        raise ValueError(f"target_mass is {mass}; targeted sampling needs one in [0, 1]")
    unknown = sorted(set(targeted) - set(window_counts))
    if unknown or not targeted:
        raise ValueError(f"targeted tasks without windows: {', '.join(unknown) or 'none were named'}; known: {', '.join(window_counts)}")
    others = len(window_counts) - len(set(targeted))
    if not others:
        return dict.fromkeys(window_counts, 1.0)
    return {t: mass / len(set(targeted)) if t in targeted else (1.0 - mass) / others for t in window_counts}
