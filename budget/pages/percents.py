"""Percentages as pages write them."""


def percent(share: float) -> str:
    """A share of a hundred, as people say it: `41 %`, `0.4 %`, `under 0.1 %`, `over 99.9 %`.

    It is never 0 or 100 unless it is just that.
    """
    if 0 < share < 0.1:
        return "under 0.1 %"
    if 99.9 < share < 100:
        return "over 99.9 %"
    if 100 < share < 100.1:
        return "over 100 %"
    exact = share < 10 or 99 < share < 101
    return f"{share:.1f}".removesuffix(".0") + " %" if exact else f"{share:.0f} %"


def exact_percent(fraction: float) -> str:
    """A share of one as a policy states it, with at most two decimals: `12.25 %`."""
    return f"{round(100 * fraction, 2):.10g} %"
