"""The calling site is the caller's own line, not the SDK's."""

import inspect
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from budget.client.source import BETWEEN, calling_site


def line() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def test_it_names_file_line_and_function() -> None:
    site, number = calling_site(), line()
    assert site == (f"tests/client/test_source.py:{number} test_it_names_file_line_and_function")


def test_library_code_in_between_is_skipped() -> None:
    @contextmanager
    def block():  # type: ignore[no-untyped-def]
        yield calling_site(BETWEEN)

    with ThreadPoolExecutor(1) as pool:
        assert (
            pool.submit(lambda: calling_site())
            .result()
            .endswith("test_library_code_in_between_is_skipped.<lambda>")
        )
        assert pool.submit(calling_site).result() == ""
    with block() as site:
        assert site.endswith("block")


def test_a_long_site_keeps_its_end() -> None:
    code = "def " + "f" * 300 + "():\n    return calling_site()"
    scope = {"calling_site": calling_site, "__name__": "long"}
    exec(compile(code, "long.py", "exec"), scope)
    site = scope["f" * 300]()  # type: ignore[operator]
    assert len(site) == 200
    assert site.endswith("f")
