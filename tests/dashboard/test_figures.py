"""Numbers of figures: what is drawn, and that a gap is none."""

import pytest

from budget.dashboard.class_figures import COLOURS, class_figures
from budget.dashboard.figure import Figure, number
from budget.dashboard.lineup import Member
from budget.dashboard.past import Past
from budget.dashboard.pool_figures import floor_guide, pool_figures
from budget.dashboard.steps import Steps
from budget.models import Pool, WorkloadClass
from budget.rule.decision import REASONS
from budget.services import ClassHistory, FloorsSince, UsageHistory
from tests.dashboard.histories import EARLY, MINUTE, START, did, history, member

POOL = Pool(slug="claims")


def of_pool(found: UsageHistory) -> dict[str, Figure]:
    steps = Steps(found)
    members = [member(slug, place) for place, slug in enumerate(found.classes)]
    pasts = {m: Past(steps, found.classes[m.slug]) for m in members}
    return {figure.name: figure for figure in pool_figures(POOL, found, steps, pasts)}


def of_class(found: UsageHistory, slug: str) -> dict[str, Figure]:
    steps = Steps(found)
    past = Past(steps, found.classes.get(slug))
    figures = class_figures(POOL, found.unit, steps, member(slug), past)
    return {figure.name: figure for figure in figures}


def test_a_gap_is_no_zero_and_a_zero_no_gap() -> None:
    found = history("1011", {"a": did(charged=[5, None, 0, 7], offered=[1, None, 0, 1])})
    assert of_pool(found)["use"].series[0].values == [5, None, 0, 7]


def test_what_goes_on_has_what_it_has_so_far() -> None:
    found = history("110", {"a": did(charged=[60, 30, None])}, at=START + 1.5 * MINUTE)
    assert of_pool(found)["use"].series[0].values == [60, 30, None]


def test_long_steps_tell_what_was_charged_in_a_minute() -> None:
    found = history("11", {"a": did(charged=[500, 200])}, 10 * MINUTE, minutes=[10, 4])
    assert of_pool(found)["use"].series[0].values == [50, 50]


def test_refunds_that_outweigh_a_minute_draw_nothing_below_zero() -> None:
    assert of_pool(history("1", {"a": did(charged=[-40])}))["use"].series[0].values == [0]


def test_what_another_limit_led_is_not_drawn_in_the_unit_of_today() -> None:
    past = did(charged=[None, 5], offered=[7, 1])
    figures = of_pool(history("11", {"a": past}, minutes=[1, 1], allowance=[None, 1000]))
    assert figures["use"].series[0].values == [None, 5]
    assert figures["use"].finding[0] == "0.5 % of the limit was used: a 0.5 %."
    assert figures["shed"].series[0].values == [0, 0]


def test_floors_and_limit_follow_the_policy() -> None:
    floors = [
        FloorsSince(EARLY, 1, {"a": 500.0}, 1000),
        FloorsSince(START + MINUTE, 2, {"a": 600.0, "b": 100.0}, 2000),
    ]
    found = history("11", {"a": did(charged=[1, 1]), "b": did(charged=[1, 1])}, floors=floors)
    guides = of_pool(found)["use"].guides
    assert [(guide.name, guide.values) for guide in guides] == [
        ("limit", [1000, 2000]),
        ("floor of a", [500, 600]),
        ("floor of b", [0, 100]),
    ]
    assert [guide.place for guide in guides] == [None, 0, 1]


def test_a_class_without_a_floor_gets_no_line() -> None:
    found = history("1", {"a": did(charged=[1])})
    assert [guide.name for guide in of_pool(found)["use"].guides] == ["limit"]


def test_a_gauge_has_no_line_in_a_figure_of_use_by_the_minute() -> None:
    floors = [FloorsSince(EARLY, 1, {"a": 0.0}, 0)]
    use = of_pool(history("1", {"a": did(charged=[3])}, floors=floors, allowance=[0]))["use"]
    assert (use.title, use.guides) == ("Use", [])


def test_sheds_of_all_reasons_add_up_by_class() -> None:
    shed = {"headroom": [1, None, 0], "ceiling": [2, None, 0]}
    figure = of_pool(history("101", {"a": did(shed, offered=[9, None, 0])}))["shed"]
    assert figure.series[0].values == [3, None, 0]
    assert figure.series[0].query == "class=a&decision=shed"
    assert figure.unit == "calls a minute"


def test_calls_without_a_class_are_named() -> None:
    figure = of_pool(history("1", {"": did({"untagged": [4]}, offered=[4])}))["shed"]
    (series,) = figure.series
    assert series.name == "untagged calls"
    assert series.query == "class=~untagged&decision=shed"


def test_queues_are_drawn_where_there_are_some() -> None:
    queued = did(queue_depth=[3, None, 0], oldest_wait_seconds=[4.25, None, None])
    figures = of_pool(history("111", {"a": did(charged=[1, 1, 1]), "b": queued}))
    assert [series.name for series in figures["depth"].series] == ["b"]
    assert figures["depth"].series[0].values == [3, None, 0]
    assert figures["wait"].series[0].values == [4.25, None, 0]
    assert set(of_pool(history("1", {"a": did(charged=[1])}))) == {"use", "shed"}


def test_a_class_shows_what_became_of_its_calls() -> None:
    past = did({"headroom": [1, 0], "ceiling": [0, 5]}, admitted=[3, 4], offered=[4, 9])
    figures = of_class(history("11", {"a": past}), "a")
    calls = figures["calls"]
    assert [(line.name, line.values, line.query) for line in calls.series] == [
        ("admitted", [3, 4], ""),
        ("ceiling", [0, 5], "class=a&reason=ceiling&decision=shed"),
        ("headroom", [1, 0], "class=a&reason=headroom&decision=shed"),
    ]
    assert list(figures) == ["calls", "tokens", "floor"]


def test_a_class_shows_its_floor_beside_what_it_drew_on() -> None:
    past = did(floor_tokens=[100], borrowed_tokens=[20], lent_tokens=[0])
    floors = [FloorsSince(EARLY, 1, {"a": 500.0}, 1000)]
    floor = of_class(history("1", {"a": past}, floors=floors), "a")["floor"]
    assert [line.values for line in floor.series] == [[100], [20], [0]]
    assert [(guide.name, guide.values) for guide in floor.guides] == [("floor", [500])]


def test_calls_without_a_class_have_no_tokens_and_no_floor() -> None:
    assert list(of_class(history("1", {"": did({"untagged": [1]})}), "")) == ["calls"]


def test_a_class_without_any_history_did_nothing_in_what_is_known() -> None:
    assert of_class(history("10"), "a")["calls"].series[0].values == [0, None]


def test_strange_reasons_reach_no_address_unquoted() -> None:
    past: ClassHistory = did({"a&b=<c>": [1]}, offered=[1])
    calls = of_class(history("1", {"a": past}), "a")["calls"]
    assert calls.series[1].query == "class=a&reason=a%26b%3D%3Cc%3E&decision=shed"


def test_a_reason_keeps_its_look_and_place_whichever_is_frequent() -> None:
    def looks(shed: dict[str, list[int]]) -> list[tuple[str, int]]:
        calls = of_class(history("1", {"a": did(shed, offered=[99])}), "a")["calls"]
        return [(line.name, line.place) for line in calls.series]

    many = looks({"headroom": [9], "ceiling": [1], "new_one": [5]})
    assert many == looks({"headroom": [1], "new_one": [20], "ceiling": [9]})
    assert looks({"headroom": [2]})[1] in many
    assert len({place for _, place in many}) == len(many)


def test_what_would_be_shed_is_drawn_apart_and_leads_to_it() -> None:
    past = ClassHistory({"offered": [9], "admitted": [9]}, {}, {"headroom": [4]})
    found = history("1", {"a": past})
    shed = of_pool(found)["shed"].series
    assert [(line.name, line.values, line.query, line.would_be) for line in shed] == [
        ("a", [0], "class=a&decision=shed", False),
        ("a, would be shed", [4], "class=a&decision=would_be", True),
    ]
    calls = of_class(found, "a")["calls"].series
    assert [(line.name, line.values, line.query) for line in calls] == [
        ("admitted in any case", [5], ""),
        ("headroom, would be shed", [4], "class=a&reason=headroom&decision=would_be"),
    ]


def test_expired_jobs_are_drawn_apart_from_sheds() -> None:
    past = did({"headroom": [1, 0]}, offered=[9, 9], admitted=[8, 8], expired=[0, 6])
    expired = of_pool(history("11", {"a": past, "b": did(offered=[1, 1])}))["expired"]
    assert [(line.name, line.values) for line in expired.series] == [("a", [0, 6])]
    calls = of_class(history("11", {"a": past}), "a")["calls"].series
    assert (calls[-1].name, calls[-1].values, calls[-1].query) == ("expired", [0, 6], "")
    assert "expired" not in of_pool(history("1", {"a": did(offered=[1])}))


def test_floors_that_follow_demand_are_named_nominal() -> None:
    pool = Pool(slug="claims", bulk_strategy="dynamic")
    steps = Steps(history("1", floors=[FloorsSince(EARLY, 1, {"a": 500.0}, 1000)]))
    tiers = ("interactive", "bulk")
    rows = [Member("a", 0, WorkloadClass(slug="a", tier=tier), None) for tier in tiers]
    guides = [floor_guide(pool, steps, row, "floor") for row in rows]
    assert [(guide.name, guide.nominal) for guide in guides] == [
        ("floor", False),
        ("floor (nominal)", True),
    ]


@pytest.mark.parametrize(
    ("amount", "said"), [(12.3456, 12), (3.14159, 3.14), (0, 0), (7.0, 7), (-12.6, -13)]
)
def test_numbers_are_as_long_as_they_need(amount: float, said: float) -> None:
    assert number(amount) == said


def test_no_reason_has_the_colour_of_the_admitted() -> None:
    shed = {reason: [1] for reason in REASONS}
    calls = of_class(history("1", {"a": did(shed, offered=[99], expired=[1])}), "a")["calls"]
    places = [line.place for line in calls.series]
    assert len(set(places)) == len(places) == len(REASONS) + 2
    assert [place % COLOURS for place in places].count(0) == 1
