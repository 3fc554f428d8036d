"""What a message says that it reverts, read in one place for notes, backports and pins (N2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relmgr.model.reverts import PullNumber, RevertClaim, read_revert

SHA = "0123456789abcdef0123456789abcdef01234567"


def number(n: int, repository: str | None = None) -> RevertClaim:
    return RevertClaim(pulls=(PullNumber(repository, n),))


@pytest.mark.parametrize(
    ("subject", "body", "claim"),
    [
        ('Revert "x (#1)" (#2)', "", RevertClaim(title="x (#1)")),
        ('Reapply "x (#1)" (#3)', "", RevertClaim(title='Revert "x (#1)"')),
        ('[Solvers] Revert "x"', "", RevertClaim(title="x")),
        ("out with it", f"This reverts commit {SHA}.", RevertClaim(commits=(SHA,))),
        ("out with it", f"This reverts commit {SHA}, reversing\nchanges made to abc.", RevertClaim(commits=(SHA,))),
        ("out with it", f"It hangs.\n\nThis reverts commit {SHA[:7]}.", RevertClaim(commits=(SHA[:7],))),
        ('Revert "x" (#2)', "Reverts acme/gadget#1", RevertClaim(pulls=(PullNumber("acme/gadget", 1),), title="x")),
        ("Without it", "Reverts https://github.com/acme/gadget/pull/1", number(1, "acme/gadget")),
        ("Revert #1 (#2)", "", number(1)),
        ("Revert pull request #1", "", number(1)),
        ("Revert acme/gadget#1 because it hangs (#2)", "", number(1, "acme/gadget")),
        ("Backing out #1: it hangs", "", number(1)),
        # Nothing is claimed where only a part may have been taken back, or somebody only speaks of it.
        ("Revert #1 and fix #2", "", None),
        ("Revert #1 for one arch", "", None),
        ("Revert the change (#1)", "", None),
        ("Revert (#1)", "", None),
        ("Reverting is easy (#1)", "", None),
        ("Fix a typo (#3)", "Reverts #1 in part", None),
        ("Fix a typo (#3)", 'He wrote: Revert "x"', None),
        ("Rework (#2)", f"* try\n\n* undo\n\nThis reverts commit {SHA}.", None),
    ],
)
def test_claims(subject: str, body: str, claim: RevertClaim | None) -> None:
    assert read_revert(subject, body) == claim


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_is_read(subject: str, body: str) -> None:
    claim = read_revert(subject, body)
    assert claim is None or claim != RevertClaim()


@pytest.mark.parametrize("piece", ["[", "[a] ", "Revert ", "revert #1 ", " (#1)", '"', "* ", " "])
def test_long_texts_end(piece: str) -> None:
    """Subjects are cut at 4,096 characters and bodies at 65,536 before they are read."""
    read_revert((piece * 4_096)[:4_096], (f"Reverts {piece}" * 8_192)[:65_536])
