import math

from benchmarks.percentiles import Spread, percentile


def test_a_percentile_is_the_smallest_time_with_that_share_at_or_below_it() -> None:
    hundred = list(range(1, 101))
    assert [percentile(hundred, share) for share in (0.5, 0.95, 0.99, 1.0)] == [50, 95, 99, 100]


def test_few_times_have_percentiles_among_themselves() -> None:
    assert [percentile([1.0, 2.0, 9.0], share) for share in (0.0, 0.33, 0.34, 0.67, 0.99)] == [1.0, 1.0, 2.0, 9.0, 9.0]


def test_of_no_times_nothing_is_said() -> None:
    assert math.isnan(percentile([], 0.5))


def test_a_spread_is_in_milliseconds_whatever_the_order_of_the_times() -> None:
    assert Spread.of([0.003, 0.001, 0.002]) == Spread(p50=2.0, p95=3.0, p99=3.0, longest=3.0)
