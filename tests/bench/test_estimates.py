"""The measurement of estimates, on a trace small enough to see through."""

from pathlib import Path

import pytest

from bench.estimates import LEARNED_FROM, measure

HEAD = "TIMESTAMP,ContextTokens,GeneratedTokens\n"


def test_calls_that_are_alike_are_estimated_well(tmp_path: Path) -> None:
    rows = (LEARNED_FROM + 100) * "2023-11-16 18:17:03.9799600,1000,100\n"
    (tmp_path / "AzureLLMInferenceTrace_code.csv").write_text(HEAD + rows)
    told: list[str] = []
    figures = measure(tmp_path, told.append)
    assert 1 <= figures["estimate_reserved_over_used_p95"] <= 1.5
    assert figures["estimate_overrun_percent"] == pytest.approx(4.5, abs=4.5)
    assert told[0].startswith("AzureLLMInferenceTrace_code: ")


@pytest.mark.parametrize("named", [False, True])
def test_without_traces_it_says_what_is_left_out(tmp_path: Path, named: bool) -> None:
    told: list[str] = []
    assert measure(tmp_path if named else None, told.append) == {}
    assert "left out" in told[0]
