"""What was not read comes with the options that hand it in."""

from __future__ import annotations

import pytest

from relmgr.gate.hand_in import how_to_hand_in


@pytest.mark.parametrize(
    ("unread", "said"),
    [
        (
            ["tickets: the forge was not asked; a clone does not hold this"],
            "hand them in with --tickets FILE, or ask the forge with --github",
        ),
        (
            ["reviews: the forge was not asked; a clone does not hold this", "checks: the forge was not asked"],
            "ask the forge with --github",
        ),
        (
            ["smoke: no smoke report was given"],
            "run `relmgr smoke run` and hand its report in with --smoke-report FILE",
        ),
        (
            ["pin_ancestry: no clone of ROCm/rocMLIR was given (--repo rocmlir=PATH)"],
            "give the clone with --repo rocmlir=PATH",
        ),
        (["trains: the last safe day of a train that ships miir 6"], ""),
        (["tickets: api.github.com: 502"], ""),
        ([], ""),
    ],
)
def test_the_option_that_hands_a_fact_in(unread: list[str], said: str) -> None:
    assert how_to_hand_in(unread) == said
