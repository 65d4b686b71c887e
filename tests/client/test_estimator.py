"""What is reserved for calls, before and after others like them were seen."""

import os
import random
import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.client.call import Api, Call
from budget.client.estimator import ENOUGH, MOST_PASTS, OUTPUT, Estimator
from budget.client.past import ALIKE, KEPT, Past, at, fitting
from budget.providers import Tokens


def call(text_bytes: int = 3000, api: Api = "messages", cap: int | None = None) -> Call:
    return Call(api, "m", text_bytes, 7, cap, 1)


def taught(used: Tokens, times: int = ENOUGH, api: Api = "messages") -> Estimator:
    estimator = Estimator()
    for _ in range(times):
        estimator.learn(call(api=api), "adjuster", used)
    return estimator


def test_the_defaults_before_anything_is_learned() -> None:
    estimator = Estimator()
    assert estimator.estimate(call(), "adjuster") == Tokens(1007, OUTPUT)
    assert estimator.estimate(replace(call(), choices=3), None) == Tokens(1007, 3 * OUTPUT)
    capped = replace(call(cap=40), choices=3)
    assert estimator.estimate(capped, None) == Tokens(1007, 120)
    assert estimator.estimate(call(0), None).input == 7
    assert estimator.estimate(replace(call(), text_tokens=800), None).input == 807


def test_embeddings_count_as_input_and_never_as_output() -> None:
    assert Estimator().estimate(call(api="embeddings"), None) == Tokens(1007, 0)
    estimator = taught(Tokens(600, 0), api="embeddings")
    assert estimator.estimate(call(api="embeddings"), "adjuster") == Tokens(600, 0)
    assert estimator.output_of(call(api="embeddings"), 900) == 0


def test_too_few_calls_teach_nothing() -> None:
    estimator = taught(Tokens(600, 20), ENOUGH - 1)
    assert estimator.estimate(call(), "adjuster") == Tokens(1007, OUTPUT)


def test_calls_that_are_alike_are_reserved_what_they_use() -> None:
    estimator = taught(Tokens(600, 20))
    assert estimator.estimate(call(), "adjuster") == Tokens(600, 20)
    twice = estimator.estimate(call(6000), "adjuster")
    assert (twice.input, twice.output) == (pytest.approx(1196, abs=1), 20)
    assert estimator.estimate(replace(call(), choices=3), "adjuster") == Tokens(600, 60)


def test_a_class_nobody_knows_learns_from_its_model() -> None:
    estimator = taught(Tokens(600, 20))
    assert estimator.estimate(call(), "rescore") == Tokens(600, 20)
    assert estimator.estimate(call(), None) == Tokens(600, 20)
    other = replace(call(), model="another")
    assert estimator.estimate(other, "adjuster") == Tokens(1007, OUTPUT)


def test_less_than_the_cap_is_reserved_only_where_the_provider_counts_what_is_used() -> None:
    estimator = taught(Tokens(600, 20))
    capped = call(cap=4000)
    assert estimator.estimate(capped, "adjuster") == Tokens(600, 20)
    assert estimator.estimate(capped, "adjuster", counts_cap=True) == Tokens(600, 4000)
    assert estimator.estimate(call(cap=5), "adjuster") == Tokens(600, 5)
    openai = taught(Tokens(600, 20), api="chat")
    assert openai.estimate(call(api="chat", cap=4000), "adjuster") == Tokens(600, 4000)
    assert openai.estimate(call(api="chat", cap=4000), "adjuster", counts_cap=False).output == 20
    assert openai.estimate(call(api="chat"), "adjuster") == Tokens(600, 20)


def test_a_small_question_and_a_large_document_are_kept_apart() -> None:
    estimator = Estimator()
    for _ in range(100):
        estimator.learn(call(300), "adjuster", Tokens(80, 400))
        estimator.learn(call(30_000), "adjuster", Tokens(7500, 30))
    assert estimator.estimate(call(300), "adjuster") == Tokens(80, 400)
    assert estimator.estimate(call(30_000), "adjuster") == Tokens(7500, 30)


def test_overruns_stay_rare_and_reservations_near_what_is_used() -> None:
    chance, estimator = random.Random(7), Estimator()
    ratios = []
    for _ in range(2000):
        size = round(chance.lognormvariate(8, 1))
        used = Tokens(7 + round(size / chance.gauss(4, 0.3)), round(chance.lognormvariate(4, 0.3)))
        asked = call(size)
        reserved = estimator.estimate(asked, "adjuster")
        estimator.learn(asked, "adjuster", used)
        ratios.append(sum(reserved) / sum(used))
    ratios = sorted(ratios[200:])
    assert sum(ratio < 1 for ratio in ratios) <= 0.05 * len(ratios)
    assert ratios[int(0.95 * len(ratios))] <= 1.5


def test_overruns_become_rare_again_once_answers_grow() -> None:
    estimator = taught(Tokens(600, 20), 500)
    overruns = 0
    for number in range(500):
        used = Tokens(600, 2000 + number % 7)
        overruns += sum(estimator.estimate(call(), "adjuster")) < sum(used)
        estimator.learn(call(), "adjuster", used)
    assert overruns < 100
    assert estimator.estimate(call(), "adjuster").output >= 2000


def test_what_was_produced_is_told_in_tokens() -> None:
    assert Estimator().output_of(call(), 900) == 300
    assert Estimator().output_of(call(), 0) == 0
    assert taught(Tokens(500, 20)).output_of(call(), 900) == pytest.approx(150, abs=2)
    hidden_context = taught(Tokens(90_000, 20))
    assert hidden_context.output_of(call(), 900) == 900


def test_nothing_is_learned_from_a_call_without_input() -> None:
    assert taught(Tokens(0, 20)).estimate(call(), "adjuster") == Tokens(1007, OUTPUT)


def test_memory_is_bounded() -> None:
    estimator = Estimator()
    for number in range(3 * MOST_PASTS):
        estimator.learn(replace(call(), model=f"m{number}"), "adjuster", Tokens(600, 20))
    assert len(estimator._pasts) == MOST_PASTS
    past = Past()
    for number in range(2 * KEPT):
        past.add(1.0 + number % 10, 1.0, number)
    assert len(past) == len(past._newest) == KEPT
    assert min(seen.output for seen in past._by_size) == KEPT


def test_what_is_used_stays_used_and_what_is_not_goes() -> None:
    estimator = taught(Tokens(600, 20))
    for number in range(3 * MOST_PASTS):
        estimator.learn(replace(call(), model=f"m{number}"), None, Tokens(600, 20))
        estimator.learn(call(), "adjuster", Tokens(600, 20))
    assert estimator.estimate(call(), "adjuster") == Tokens(600, 20)


def test_many_threads_teach_and_ask_at_once() -> None:
    estimator, faults = taught(Tokens(600, 20)), []

    def work(seed: int) -> None:
        chance = random.Random(seed)
        try:
            for _ in range(200):
                estimator.learn(call(chance.randint(0, 9000)), "adjuster", Tokens(600, 20))
                estimator.estimate(call(chance.randint(0, 9000)), "adjuster")
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=[seed]) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert len(estimator._pasts["messages m", "adjuster", False]) == KEPT


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_forked_while_others_learn_can_estimate() -> None:
    estimator, over = taught(Tokens(600, 20)), threading.Event()

    def work() -> None:
        while not over.is_set():
            estimator.learn(call(), "adjuster", Tokens(600, 20))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if not child:
                os._exit(estimator.estimate(call(), "adjuster") != Tokens(600, 20))
            assert os.waitpid(child, 0)[1] == 0
    finally:
        over.set()
        thread.join()


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=2 * ALIKE), st.floats(0.125, 64))
def test_no_other_total_would_cost_less(totals: list[float], weight: float) -> None:
    totals.sort()

    def cost(reserved: float) -> float:
        overruns = sum(total > reserved for total in totals)
        return weight * overruns + sum(total * 1.5 < reserved for total in totals)

    best = fitting(totals, weight)
    assert cost(best) == pytest.approx(min(map(cost, totals)))


def test_a_part_of_sorted_values() -> None:
    assert at([1, 2, 3, 4], 0.5) == 2
    assert at([1, 2, 3, 4], 0.95) == 4
    assert at([1], 0) == 1
