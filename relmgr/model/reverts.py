"""What a commit's message says that it reverts. Read in one place; what it means is looked up by each who asks.

A message claims by a commit's id (`This reverts commit abc.`), by a pull request's number (`Reverts owner/repo#1`, or a
title that is `Revert #1` and no more), or by a quoted title (`Revert "x"`, `Reapply "x"`). Ids say more than numbers,
numbers more than titles. Words such as `Revert #1 and fix #2` claim nothing: a part may have stayed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TAGS = r"^(?:\[[^\]]*\]\s*)*"
_SAYS = re.compile(_TAGS + r"(?:revert(?:s|ed|ing)?|reapply|re-?land|back(?:s|ed|ing)?[ -]?out)\b", re.IGNORECASE)
_QUOTED = re.compile(_TAGS + r'(?P<verb>Revert|Reapply) "(?P<title>.*)"\s*$', re.IGNORECASE)
_NUMBER = r"(?:(?P<slug>[\w.-]+/[\w.-]+)?#|(?:https?://[\w.-]+/(?P<path>[\w.-]+/[\w.-]+)/pull/))(?P<number>\d{1,9})"
_TITLE_NUMBER = re.compile(
    _TAGS + r"(?:revert(?:s|ed|ing)?|back(?:s|ed|ing)?[ -]?out)\s+(?:the\s+)?(?:pr\s+|pull request\s+)?"
    rf"{_NUMBER}(?:\s*$|\s*:|\s+(?:because|due to|since)\b)",
    re.IGNORECASE,
)
_BODY_COMMIT = re.compile(r"^[ \t]*This reverts commit ([0-9a-f]{7,64})\b", re.MULTILINE)
_BODY_NUMBER = re.compile(rf"^[ \t]*Reverts {_NUMBER}/?\.?[ \t]*$", re.MULTILINE)
# A squash lists its commits; one of them may have taken another back before the merge.
_ITEM = re.compile(r"^[ \t]*[*-][ \t]", re.MULTILINE)
_NUMBERS_AT_END = re.compile(r"(?:\s*\(#\d{1,9}\))+\s*$")


@dataclass(frozen=True)
class PullNumber:
    """A pull request by its number, of `repository` where the text names one."""

    repository: str | None
    number: int

    def __str__(self) -> str:
        return f"{self.repository or ''}#{self.number}"


@dataclass(frozen=True)
class RevertClaim:
    """What a message says that it reverts: `commits` by (shortened) id, `pulls` by number, a change by its `title`."""

    commits: tuple[str, ...] = ()
    pulls: tuple[PullNumber, ...] = ()
    title: str | None = None


def says_revert(subject: str) -> bool:
    """Tell whether a subject calls its commit a revert, of whatever it be."""
    return _SAYS.match(subject) is not None


def read_revert(subject: str, body: str) -> RevertClaim | None:
    """Return what a message claims to revert, None for one that claims nothing.

    The numbers at the subject's end are its own. Of the body the lines count that git and forges write, unless they
    stand below a list item and the subject does not speak of a revert.
    """
    title = without_numbers(subject)
    says = says_revert(title)
    if not says and "everts" not in body:
        return None
    if not says:
        item = _ITEM.search(body)
        body = body[: item.start()] if item else body
    claim = RevertClaim(
        commits=tuple(dict.fromkeys(_BODY_COMMIT.findall(body))),
        pulls=tuple(dict.fromkeys(_pull(match) for match in _BODY_NUMBER.finditer(body))),
        title=_quoted(title),
    )
    if says and claim == RevertClaim() and (match := _TITLE_NUMBER.match(title)):
        claim = RevertClaim(pulls=(_pull(match),))
    return None if claim == RevertClaim() else claim


def without_numbers(subject: str) -> str:
    """Return a subject without the pull requests in brackets at its end."""
    return _NUMBERS_AT_END.sub("", subject) if subject.rstrip().endswith(")") else subject


def _quoted(title: str) -> str | None:
    match = _QUOTED.match(title)
    if match is None:
        return None
    return match["title"] if match["verb"].lower() == "revert" else f'Revert "{match["title"]}"'


def _pull(match: re.Match[str]) -> PullNumber:
    return PullNumber(match["slug"] or match["path"], int(match["number"]))
