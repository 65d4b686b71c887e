"""A policy that cannot work is refused, with the field and the fix."""

from budget.rule.checks import problems
from budget.rule.terms import BatchTerms
from tests.rule.pools import limit, pool, workload


def fields(*args, **terms):
    return [(problem.owner, problem.field) for problem in problems(pool(*args, **terms))]


def small(slug, **terms):
    return workload(slug, max_call_tokens=10, **terms)


def test_a_sensible_policy_has_no_problems():
    assert fields([limit()], small("adjuster", share=0.5), small("nightly", headroom=0.1)) == []


def test_shares_over_the_whole_are_refused_with_the_excess():
    terms = pool([limit()], small("adjuster", share=0.6), small("rescore", share=0.5))
    message = problems(terms)[0].message
    assert "110 %" in message
    assert "adjuster 60 % + rescore 50 %" in message
    assert "by 10 %" in message


def test_three_thirds_are_not_over_the_whole():
    shares = [small("a", share=0.3333), small("b", share=0.3333), small("c", share=0.3334)]
    assert fields([limit()], *shares) == []


def test_a_ceiling_below_the_share_is_refused():
    assert fields([limit()], small("rescore", share=0.3, ceiling=0.2)) == [
        ("rescore", "ceiling_percent")
    ]


def test_headroom_that_falls_with_looseness_is_refused():
    assert fields([limit()], small("rescore", headroom=0.2), small("nightly", headroom=0.1)) == [
        ("nightly", "headroom_percent")
    ]


def test_a_class_whose_largest_call_can_never_fit_is_refused():
    found = problems(pool([limit(100)], small("adjuster", share=0.95), small("nightly")))
    assert [problem.owner for problem in found] == ["nightly"]
    assert "max_call_tokens of 10" in found[0].message


def test_a_class_that_could_never_make_one_request_is_refused():
    requests = limit(10, "gauge", unit="requests")
    found = problems(pool([requests], small("adjuster", share=0.95), small("nightly")))
    assert "one request" in found[0].message


def test_an_exception_for_a_limit_the_pool_lacks_is_refused():
    assert fields([limit()], small("adjuster", except_limits=("requests/gauge",))) == [
        ("adjuster", "except_limits")
    ]


def test_a_class_without_a_reservation_is_not_judged_by_its_largest_call():
    assert fields([limit(100)], small("adjuster"), workload("nightly", reserved=False)) == []


def batch(*limits):
    return BatchTerms(limits=limits)


def test_a_batch_endpoint_too_small_for_one_bulk_call_is_refused():
    enqueued = batch(limit(9, "gauge"))
    classes = small("rescore", headroom=0.05), small("nightly", headroom=0.1)
    (found,) = problems(pool([limit()], *classes, batch=enqueued))
    assert (found.owner, found.field) == ("nightly", "batch")
    assert "batch endpoint's total_tokens/gauge" in found.message
    assert "is 9, less than its max_call_tokens of 10" in found.message


def test_a_batch_endpoint_that_never_takes_one_request_is_refused():
    requests = batch(limit(1, unit="requests", burst=50))
    (found,) = problems(pool([limit()], small("nightly"), batch=requests))
    assert "less than one request" in found.message


def test_floors_take_nothing_from_a_batch_endpoint():
    enqueued = batch(limit(10, "gauge"))
    classes = small("adjuster", share=0.5), small("nightly", headroom=0.1)
    assert fields([limit()], *classes, batch=enqueued) == []


def test_a_bulk_class_without_a_reservation_is_not_judged_by_the_batch_endpoint():
    enqueued = batch(limit(9, "gauge"))
    assert fields([limit()], small("nightly", reserved=False), batch=enqueued) == []
