"""Captions say what a figure shows, in words that are true."""

from collections.abc import Mapping
from typing import Any

from budget.dashboard.finding import NO_CALLS, NOTHING_KNOWN, floor_finding, tokens_finding
from budget.dashboard.sentence import Sentence, as_html, as_json
from budget.services import ClassHistory, FloorsSince
from tests.dashboard.histories import EARLY, MINUTE, START, did, history
from tests.dashboard.test_figures import of_class, of_pool


def said(sentence: Sentence) -> str:
    """With moments as hours and minutes."""
    return "".join(part if isinstance(part, str) else f"{part:%H:%M}" for part in sentence)


def caption(name: str, known: str, classes: Mapping[str, ClassHistory], **more: Any) -> str:
    return said(of_pool(history(known, classes, **more))[name].finding)


def test_the_use_of_the_limit_is_told_by_class_with_its_peak() -> None:
    classes = {"adjuster": did(charged=[410, 410]), "nightly": did(charged=[90, 490])}
    assert caption("use", "11", classes) == (
        "70 % of the limit was used: adjuster 41 %, nightly 29 %. The peak was at 12:01, with 90 %."
    )


def test_the_rest_of_many_classes_is_told_in_one_so_that_the_parts_add_up() -> None:
    classes = {slug: did(charged=[100], expired=[3]) for slug in "abcde"}
    assert "50 % of the limit was used: a 10 %, b 10 %, c 10 %, others 20 %." in (
        caption("use", "1", classes)
    )
    assert caption("expired", "1", classes) == "15 jobs expired: a 3, b 3, c 3, others 6."
    shed = {
        slug: did({"headroom": [count]}, offered=[1000])
        for slug, count in zip("abcde", (764, 26, 8, 1, 1), strict=True)
    }
    told = caption("shed", "1", shed)
    assert told.startswith("800 of 5,000 calls were shed (16 %): a 764, all because")
    assert told.endswith("; others 2.")


def test_a_single_step_has_no_peak() -> None:
    assert "peak" not in caption("use", "1", {"a": did(charged=[5])})


def test_gaps_are_told() -> None:
    told = caption("use", "110110010", {"a": did(charged=[1, 1, None, 1, 1, None, None, 1, None])})
    assert told.endswith(" Nothing was recorded from 12:02 to 12:03, and 1 more time.")


def test_nobody_called() -> None:
    assert caption("use", "11", {"a": did(charged=[0, 0])}) == NO_CALLS
    assert caption("shed", "11", {"a": did(offered=[0, 0])}) == NO_CALLS


def test_nothing_is_known() -> None:
    assert caption("use", "00", {"a": did(charged=[None, None])}) == NOTHING_KNOWN
    assert caption("shed", "00", {"a": did(offered=[None, None])}) == NOTHING_KNOWN


def test_without_an_allowance_amounts_are_told() -> None:
    floors = [FloorsSince(EARLY, 1, {}, 0)]
    told = caption("use", "1", {"a": did(charged=[1200])}, floors=floors, allowance=[0])
    assert told == "Calls took 1,200 tokens: a 1,200."


def test_sheds_are_told_most_shed_first_with_why_and_when() -> None:
    classes = {
        "rescore": did({"headroom": [6, 0]}, offered=[100, 100]),
        "nightly": did(
            {"floor_protected": [20, 230], "pool_exhausted": [0, 62]}, offered=[100, 300]
        ),
    }
    assert caption("shed", "11", classes) == (
        "318 of 600 calls were shed (53 %): nightly 312, most (250) because floors are protected; "
        "rescore 6, all because headroom is kept for stricter classes. "
        "The peak was at 12:01, with 292."
    )


def test_a_reason_that_is_none_of_most_is_one_of_many() -> None:
    shed = {"headroom": [4], "ceiling": [3], "yielding": [3]}
    told = caption("shed", "1", {"a": did(shed, offered=[10])})
    assert "a 10, many (4) because headroom is kept" in told


def test_nobody_was_shed() -> None:
    assert caption("shed", "1", {"a": did(offered=[1234])}) == "None of 1,234 calls was shed."


def test_a_pool_that_observes_tells_what_it_spared() -> None:
    spared = ClassHistory({"offered": [5, 4], "admitted": [5, 4]}, {}, {"headroom": [1, 3]})
    assert caption("shed", "11", {"a": spared}) == (
        "None of 9 calls was shed. 4 would have been (44 %), had the pool enforced: a 4, all "
        "because headroom is kept for stricter classes. The peak was at 12:01, with 3."
    )
    assert said(of_class(history("11", {"a": spared}), "a")["calls"].finding) == (
        "9 of 9 calls were admitted; none was shed. 4 would have been shed (44 %), had the pool "
        "enforced, all because headroom is kept for stricter classes."
    )


def test_a_class_named_as_the_calls_without_one_is_told_apart() -> None:
    classes = {"untagged": did(charged=[100]), "": did(charged=[200])}
    assert caption("use", "1", classes) == (
        "30 % of the limit was used: untagged 10 %, untagged calls 20 %."
    )
    shed = {
        "untagged": did({"headroom": [1]}, offered=[5]),
        "": did({"untagged": [2]}, offered=[5]),
    }
    assert "untagged calls 2, all because they named no class; untagged 1, all" in (
        caption("shed", "1", shed)
    )


def test_expired_jobs_are_told() -> None:
    classes = {"a": did(expired=[0, 7], offered=[1, 9]), "b": did(expired=[1, 0], offered=[9, 1])}
    assert caption("expired", "11", classes) == (
        "8 jobs expired: a 7, b 1. The peak was at 12:01, with 7."
    )
    late = did(offered=[5], admitted=[5], expired=[1])
    told = said(of_class(history("1", {"a": late}), "a")["calls"].finding)
    assert told == "5 of 5 calls were admitted; none was shed. 1 job expired."


def test_the_use_that_is_told_is_the_area_that_is_drawn() -> None:
    classes = {"a": did(charged=[400, -300, 500]), "b": did(charged=[-50, 100, -80])}
    figure = of_pool(history("111", classes))["use"]
    assert [series.values for series in figure.series] == [[400, 0, 200], [0, 50, 0]]
    assert said(figure.finding).startswith("22 % of the limit was used: a 20 %, b 1.7 %.")


def test_an_unknown_reason_is_named() -> None:
    assert "all as sun spots" in caption("shed", "1", {"a": did({"sun_spots": [1]}, offered=[1])})


def test_queues_are_told() -> None:
    queued = did(queue_depth=[3, 120], oldest_wait_seconds=[4.0, 250.0])
    assert caption("depth", "11", {"b": queued}) == "Most jobs waited at 12:01: 120 of b."
    assert caption("wait", "11", {"b": queued}) == (
        "The oldest job had waited 4 min 10 s, in b at 12:01."
    )
    empty = {"b": did(queue_depth=[0, 0], oldest_wait_seconds=[None, None])}
    assert caption("depth", "11", empty) == "No job was waiting at the end of any minute."
    assert caption("wait", "11", empty) == "No job was waiting at the end of any minute."


def test_the_calls_of_a_class_are_told() -> None:
    past = did({"headroom": [20], "ceiling": [4]}, admitted=[76], offered=[100])
    assert said(of_class(history("1", {"a": past}), "a")["calls"].finding) == (
        "76 of 100 calls were admitted; 24 were shed (24 %), most (20) because headroom is kept "
        "for stricter classes."
    )
    fine = did(admitted=[76], offered=[76])
    assert said(of_class(history("1", {"a": fine}), "a")["calls"].finding) == (
        "76 of 76 calls were admitted; none was shed."
    )
    assert said(of_class(history("1", {}), "a")["calls"].finding) == NO_CALLS


def test_tokens_and_floors_are_told() -> None:
    assert said(tokens_finding("calls", 1000, 810)) == (
        "810 tokens were used, 81 % of the 1,000 that were estimated."
    )
    assert said(tokens_finding("jobs", 0, 0)) == "No job was admitted in this time."
    assert said(floor_finding("tokens", 900, 100, 50)) == (
        "By the estimates, before refunds, 900 tokens came out of its own floor, 100 out of floors "
        "that looser classes lent it; it lent 50."
    )
    assert said(floor_finding("tokens", 0, 0, 0)) == "No floor was drawn on in this time."


def test_a_sentence_escapes_what_it_names() -> None:
    sentence = ["<b> took it at ", START + MINUTE, "."]
    html = as_html(sentence, "time")
    assert html.startswith('&lt;b&gt; took it at <time datetime="2026-03-01T12:01:00+00:00"')
    assert html.endswith("UTC</time>.")
    assert as_json(sentence) == ["<b> took it at ", int((START + MINUTE).timestamp()), "."]
