"""Wilson's score interval of a rate: the one that does not collapse at 0 and 1, where a bootstrap of the rows does."""

from statistics import NormalDist


def wilson(k: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """(low, high) of k successes in n trials, 0 <= k <= n. Equals scipy.stats.binomtest(k, n).proportion_ci(confidence, "wilson").

    Raises ValueError for n <= 0, k outside [0, n] or a confidence outside (0, 1).
    """
    if n <= 0 or not 0 <= k <= n:
        raise ValueError(f"{k} successes in {n} trials is no rate")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence is {confidence}; it lies between 0 and 1")
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    rate = k / n
    middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (rate * (1 - rate) / n + z * z / (4 * n * n)) ** 0.5
    return max(0.0, middle - half) if k else 0.0, min(1.0, middle + half) if k < n else 1.0
