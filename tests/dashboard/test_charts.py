"""Charts in a real browser: cursor, keyboard, legend, data table, links to sheds."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Locator, expect

from budget.dashboard.rows import short
from budget.models import UsageMinute
from tests.dashboard.addresses import class_page, pool_page
from tests.dashboard.usage import GAP, MINUTE, month, ten_classes
from tests.dashboard.watching import Watcher, aside, words

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("committed")]

PEAK = 30


def in_berlin(moment: datetime) -> str:
    return f"{moment.astimezone(ZoneInfo('Europe/Berlin')):%H:%M}"


def span_of(history: datetime, n: int) -> str:
    return f"{in_berlin(history + n * MINUTE)}–{in_berlin(history + (n + 1) * MINUTE)}"


def the_hour(history: datetime) -> str:
    """What an address says to show it, however late it gets."""
    end = history + 60 * MINUTE
    return f"from={history:%Y-%m-%dT%H:%M:%SZ}&to={end:%Y-%m-%dT%H:%M:%SZ}"


def focus(figure: Locator) -> Locator:
    plot = figure.locator(".plot")
    plot.focus()
    return plot


def test_arrow_keys_move_through_time_and_each_step_is_told(
    watcher: Watcher, history: datetime
) -> None:
    watcher.open(pool_page(query=the_hour(history)))
    use = watcher.figure("use")
    readout = use.locator(".readout")
    assert readout.get_attribute("aria-live") == "polite"
    plot = focus(use)
    plot.press("Home")
    assert words(readout).startswith(f"{span_of(history, 0)}: adjuster ")
    for _ in range(PEAK):
        plot.press("ArrowRight")
    assert words(readout) == (
        f"{span_of(history, PEAK)}: adjuster 414,000, rescore 95,000, nightly 4,400, "
        "together 513,400, of 400,000 allowed."
    )
    plot.press("PageDown")
    plot.press("PageDown")
    plot.press("PageUp")
    for _ in range(6):
        plot.press("ArrowRight")
    assert words(readout) == f"{span_of(history, 46)}: nothing was recorded."
    plot.press("End")
    assert words(readout).startswith(span_of(history, 59))
    assert watcher.complaints == []


def test_the_chart_says_what_it_is_and_how_to_use_it(watcher: Watcher, history: datetime) -> None:
    watcher.open(pool_page(query=the_hour(history)))
    plot = watcher.figure("shed").locator(".plot")
    assert plot.get_attribute("aria-label") == (
        "Shed: arrow keys move through time, Enter for a step's sheds"
    )
    assert plot.get_attribute("tabindex") == "0"


def to_the_peak(watcher: Watcher) -> Locator:
    plot = focus(watcher.figure("shed"))
    plot.press("Home")
    for _ in range(PEAK):
        plot.press("ArrowRight")
    return plot


def sheds_at(history: datetime, n: int) -> str:
    start, end = history + n * MINUTE, history + (n + 1) * MINUTE
    return f"sheds/?from={start:%Y-%m-%dT%H:%M:%SZ}&to={end:%Y-%m-%dT%H:%M:%SZ}"


def shed_at(history: datetime, n: int, workload_class: str = "") -> str:
    of_class = f"class={workload_class}&" if workload_class else ""
    return f"{sheds_at(history, n)}&{of_class}decision=shed"


def test_a_spike_leads_to_its_sheds_by_key_and_by_link(watcher: Watcher, history: datetime) -> None:
    page = watcher.open(pool_page(query=the_hour(history)))
    plot = to_the_peak(watcher)
    assert words(watcher.figure("shed").locator(".readout")) == (
        f"{span_of(history, PEAK)}: rescore 6, nightly 72, together 78. See these sheds"
    )
    link = watcher.figure("shed").get_by_role("link", name="See these sheds")
    assert (link.get_attribute("href") or "").endswith(shed_at(history, PEAK))
    with page.expect_navigation():
        plot.press("Enter")
    assert page.url.endswith(shed_at(history, PEAK))
    assert page.locator("h1").count() == 1


def test_a_click_on_a_bar_leads_to_the_sheds_of_its_class(
    watcher: Watcher, history: datetime
) -> None:
    page = watcher.open(pool_page(query=the_hour(history)))
    over = watcher.figure("shed").locator(".u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    minutes = 60
    with page.expect_navigation():
        page.mouse.move(box["x"], box["y"])
        page.mouse.click(
            box["x"] + box["width"] * (PEAK + 0.5) / minutes, box["y"] + box["height"] / 2
        )
    assert page.url.endswith(shed_at(history, PEAK, "nightly"))


def test_a_click_where_nobody_was_shed_leads_nowhere(watcher: Watcher, history: datetime) -> None:
    page = watcher.open(pool_page(query=the_hour(history)))
    before = page.url
    watcher.figure("shed").locator(".u-over").click(position={"x": 5, "y": 20})
    page.wait_for_timeout(200)
    assert page.url == before


def test_lines_are_shown_and_hidden_by_their_names(watcher: Watcher, history: datetime) -> None:
    watcher.open(pool_page(query=the_hour(history)))
    use = watcher.figure("use")
    plot = focus(use)
    button = use.get_by_role("button", name="adjuster")
    assert button.get_attribute("aria-pressed") == "true"
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"
    plot.press("Home")
    assert "adjuster" not in words(use.locator(".readout"))
    assert "rescore" in words(use.locator(".readout"))
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"
    assert [words(entry) for entry in use.locator(".legend li").all()] == [
        "adjuster",
        "rescore",
        "nightly",
        "limit",
        "floors",
    ]
    use.get_by_role("button", name="floors").click()
    assert watcher.complaints == []


def test_the_data_is_there_as_a_table_with_links(watcher: Watcher, history: datetime) -> None:
    watcher.open(pool_page(query=the_hour(history)))
    shed = watcher.figure("shed")
    assert shed.locator("table").count() == 0
    shed.get_by_text("Data table").click()
    expect(shed.locator("tbody tr").first).to_be_visible()
    heads = [words(cell) for cell in shed.locator("thead th").all()]
    assert heads == ["Time", "adjuster", "rescore", "nightly"]
    peak = shed.locator("tbody tr", has_text=span_of(history, PEAK))
    assert [words(cell) for cell in peak.locator("td").all()] == ["0", "6", "72"]
    address = peak.get_by_role("link", name="72").get_attribute("href") or ""
    assert address.endswith(shed_at(history, PEAK, "nightly"))
    gap = shed.locator("tbody tr", has_text=span_of(history, GAP[0]))
    assert [words(cell) for cell in gap.locator("td").all()] == ["no record"] * 3
    assert words(shed.locator("tbody th").first) == span_of(history, 59), "newest first"


def test_the_table_of_use_has_limit_and_floors(watcher: Watcher, history: datetime) -> None:
    watcher.open(pool_page(query=the_hour(history)))
    use = watcher.figure("use")
    use.get_by_text("Data table").click()
    expect(use.locator("tbody tr").first).to_be_visible()
    heads = [words(cell) for cell in use.locator("thead th").all()]
    assert heads[4:] == ["limit", "floor of adjuster", "floor of rescore"]
    row = use.locator("tbody tr", has_text=span_of(history, PEAK))
    assert [words(cell) for cell in row.locator("td").all()][3:] == ["400,000", "200,000", "80,000"]


def test_moments_are_written_in_the_zone_of_the_viewer_which_is_named(
    watcher: Watcher, history: datetime
) -> None:
    page = watcher.open(pool_page(query=the_hour(history)))
    peak = in_berlin(history + PEAK * MINUTE)
    assert f"The peak was at {peak}, with 78." in words(watcher.figure("shed"))
    zone = words(page.locator(".zone"))
    assert zone in ("Times are in Europe/Berlin (CET).", "Times are in Europe/Berlin (CEST).")


def test_the_step_that_goes_on_says_so(watcher: Watcher) -> None:
    watcher.open(pool_page())
    shed = watcher.figure("shed")
    focus(shed).press("End")
    assert "(so far)" in words(shed.locator(".readout"))
    shed.get_by_text("Data table").click()
    assert words(shed.locator("tbody th").first).endswith(" so far")


def test_policy_changes_are_labelled_and_lead_to_their_entry(watcher: Watcher) -> None:
    page = watcher.open(pool_page())
    mark = watcher.figure("use").locator(".marks a")
    expect(mark).to_have_count(1)
    assert "Policy change 1:" in (mark.get_attribute("aria-label") or "")
    with page.expect_navigation():
        mark.click()
    assert "/admin/budget/policyhistory/" in page.url


def test_a_class_draws_its_calls_by_reason(watcher: Watcher, history: datetime) -> None:
    page = watcher.open(class_page("nightly", query=the_hour(history)))
    calls = watcher.figure("calls")
    names = [words(entry) for entry in calls.locator(".legend li").all()]
    assert names == ["admitted", "floor protected", "headroom"]
    plot = focus(calls)
    plot.press("Home")
    for _ in range(PEAK):
        plot.press("ArrowRight")
    with page.expect_navigation():
        plot.press("Enter")
    assert page.url.endswith(shed_at(history, PEAK, "nightly"))
    assert watcher.complaints == []


def test_a_class_with_one_reason_leads_to_its_own_sheds(
    watcher: Watcher, history: datetime
) -> None:
    page = watcher.open(class_page("rescore", query=the_hour(history)))
    calls = watcher.figure("calls")
    assert calls.locator(".legend li").count() == 2, "admitted, and one reason"
    plot = focus(calls)
    plot.press("Home")
    for _ in range(PEAK):
        plot.press("ArrowRight")
    with page.expect_navigation():
        plot.press("Enter")
    own = f"{sheds_at(history, PEAK)}&class=rescore&reason=headroom&decision=shed"
    assert page.url.endswith(own)


def test_a_pool_that_observes_draws_what_it_would_shed(watcher: Watcher, history: datetime) -> None:
    def observe() -> None:
        minute = history + PEAK * MINUTE
        UsageMinute.objects.filter(minute=minute, workload_class="rescore").update(
            shed={}, would_shed={"headroom": 6}
        )

    aside(observe)
    page = watcher.open(pool_page(query=the_hour(history)))
    shed = watcher.figure("shed")
    assert words(shed.locator(".legend li").last) == "rescore, would be shed"
    to_the_peak(watcher)
    assert "nightly 72, rescore, would be shed 6, together 78." in words(shed.locator(".readout"))
    shed.get_by_text("Data table").click()
    row = shed.locator("tbody tr", has_text=span_of(history, PEAK))
    link = row.get_by_role("link", name="6", exact=True)
    own = f"{sheds_at(history, PEAK)}&class=rescore&decision=would_be"
    assert (link.get_attribute("href") or "").endswith(own)
    with page.expect_navigation():
        link.click()
    assert watcher.complaints == []


def test_axes_write_numbers_as_the_table_does(watcher: Watcher, history: datetime) -> None:
    page = watcher.open(pool_page(query=the_hour(history)))
    said = page.evaluate(
        """async numbers => {
          const { short } = await import("/static/budget/dashboard/words.js");
          return numbers.map(number => short(number, "tokens"));
        }""",
        [0.5, 9876, 98_765, 100_000, 999_960, 12_345_678, 4_000_000_000],
    )
    assert said == ["0.5", "9,876", "98.8 k", "100 k", "1 M", "12.3 M", "4 G"]
    assert said[1:] == [short(n) for n in (9876, 98_765, 100_000, 999_960, 12_345_678, 4 * 10**9)]


def test_a_month_of_ten_classes_is_drawn(watcher: Watcher, history: datetime) -> None:
    aside(lambda: month(ten_classes(), history))
    watcher.open(pool_page("busy", "range=30d"))
    assert watcher.figure("use").locator(".legend li").count() == 15, "ten, the claims', two guides"
    assert watcher.complaints == []
