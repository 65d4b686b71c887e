"""What addresses say of filters and groupings, there and back."""

from urllib.parse import urlencode

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from budget.dashboard.sheds.filters import Filters, Tag, filters_of
from budget.dashboard.sheds.grouping import Grouping, grouping_of
from budget.dashboard.sheds.question import question_of
from budget.rule.decision import REASONS

TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=50
)
TAGS = st.builds(Tag, TEXTS, st.none() | st.just("") | TEXTS)
FILTERS = st.builds(
    Filters,
    workload_class=st.sampled_from([None, "", "nightly", "in-process", "untagged"]),
    reason=st.sampled_from([None, *REASONS]),
    decision=st.sampled_from([None, "shed", "would_be"]),
    source=st.none() | st.just("") | TEXTS,
    source_part=st.none() | TEXTS,
    key=st.sampled_from([None, "", "key00001"]),
    tags=st.lists(TAGS, max_size=4, unique=True).map(tuple),
)
GROUPINGS = st.sampled_from(["source", "class", "reason", "key", "tag", "time"]).map(Grouping)


@given(FILTERS, GROUPINGS | st.builds(Grouping, st.just("tag"), TEXTS))
def test_an_address_brings_back_what_it_was_made_of(filters: Filters, grouping: Grouping) -> None:
    asked = question_of(QueryDict(urlencode([*filters.pairs, ("group", str(grouping))])))
    assert (asked.filters, asked.grouping) == (filters, grouping)
    again = question_of(QueryDict(asked.query))
    assert (again.filters, again.grouping, again.query) == (filters, grouping, asked.query)


@given(FILTERS)
def test_each_part_says_what_remains_without_it(filters: Filters) -> None:
    for part in filters.parts:
        assert part.words
        rest = [other.pair for other in filters.parts if other.pair != part.pair]
        assert part.without.pairs == rest


@pytest.mark.parametrize("by", ["source", "class", "reason", "key", "tag", "tag:team"])
@given(name=TEXTS, filters=FILTERS)
def test_a_group_narrows_what_was_asked(by: str, name: str, filters: Filters) -> None:
    inside, _ = grouping_of(by).into(name, filters)
    assert inside.parts
    again, _ = grouping_of(by).into(name, inside)
    assert again == inside


def test_a_tags_value_takes_the_place_of_any_value() -> None:
    filters = filters_of(QueryDict("tag=team&tag=run=1"))
    inside, _ = Grouping("tag", "team").into("north", filters)
    assert inside.tags == (Tag("run", "1"), Tag("team", "north"))
