"""How a project writes its release notes: headings, title, and what decides the heading of a change."""

from __future__ import annotations

import re
import string
from functools import cached_property
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from relmgr.model.base import Noun

_PLACEHOLDERS = {"version", "release", "tag"}


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return text


Pattern = Annotated[str, AfterValidator(_pattern)]


class HeadingGuess(Noun):
    """A heading for the titles that match `pattern` (any letter case); the first that matches counts."""

    heading: str
    pattern: Pattern


_LEAD = r"^(?:\[[^\]]*\]\s*|\w+/[\w-]+:?\s+)*"
_NEW = r"(?:add(?:s|ed|ing)?\b|introduc|enabl|support|implement|integrat|new\b)"
# A test or a page that came in is nothing that a user of the library gets.
_INTERNAL = r"^(?:\[[^\]]*\]\s*)*?\[(?:nfc|docs?|documentation|ci|tests?)\]"
_FIX_TAG = r"^(?:\[[^\]]*\]\s*)*?\[[^\]]*(?:fix|\bw/?a\b|work-?around)[^\]]*\]"
_FIX = r"\b(?:hot|bug)?fix(?:e[sd])?\b|\bw/a\b|work-?around|\bregressions?\b(?! tests?\b)"
_TROUBLE = r"\b(?:address|resolve|correct)\w*\b.*\b(?:bug|crash|error|fail|issue|leak)"
# A stage of the CI that measures speed, and its tests, make nothing faster.
_SPEED = (
    r"\[(?:perf|tuning)|\btun(?:ing|e)\b|\bperf(?:ormance)?\b(?! (?:test )?stage\b|.*\btests?\b)|optimi[sz]|\bfaster\b"
)
_GUESSES = (
    HeadingGuess(heading="Resolved issues", pattern=_FIX_TAG),
    HeadingGuess(heading="Removed", pattern=_LEAD + r"(?:remov|delet|drop|deprecat)"),
    HeadingGuess(heading="Changed", pattern=_LEAD + r"bump|(?=" + _INTERNAL + r")" + _LEAD + _NEW),
    HeadingGuess(heading="Resolved issues", pattern=_FIX + "|" + _TROUBLE),
    HeadingGuess(heading="Optimized", pattern=_SPEED),
    HeadingGuess(heading="Added", pattern=_LEAD + _NEW + r"|\baddition\]|\b(?:support|integration)\s*$"),
)


class NotesSettings(Noun):
    """The notes of the project's consumer.

    `title` may name {version} (the first group of `version_pattern` in `version_file`), {release} (the numbers in the
    tag) and {tag}. `same_as` maps other names of a heading, such as a fragment's type, to one of `headings`.
    """

    title: str = "{tag}"
    version_file: str | None = Field(default=None, description="file that holds the project's own version, from `root`")
    version_pattern: Pattern | None = Field(default=None, description="its first group is the version")
    headings: tuple[str, ...] = Field(
        default=("Added", "Changed", "Removed", "Optimized", "Resolved issues", "Known issues"), min_length=1
    )
    same_as: dict[str, str] = Field(
        default={
            "Fixed": "Resolved issues",
            "Bugfix": "Resolved issues",
            "Bugfixes": "Resolved issues",
            "Security": "Resolved issues",
            "Performance": "Optimized",
            "Optimizations": "Optimized",
            "Feature": "Added",
            "Features": "Added",
            "Removal": "Removed",
            "Deprecated": "Removed",
            "Deprecations and Removals": "Removed",
        },
        description="other names of a heading, any letter case",
    )
    category_block: str = Field(
        default="Changelog Category", description="title of the check boxes in a pull request's description"
    )
    left_out: tuple[str, ...] = Field(
        default=("Not applicable", "None"), description="boxes and fragment types that keep a change out of the notes"
    )
    labels: dict[str, str] = Field(default={}, description="a label of a pull request to the heading it stands for")
    guesses: tuple[HeadingGuess, ...] = _GUESSES
    otherwise: str = Field(default="Changed", description="the heading of a change that nothing else decides")
    user_caches: str = Field(
        default="the user's own kernel caches", description="what a user deletes when the kernel ABI changes"
    )

    @model_validator(mode="after")
    def _check(self) -> NotesSettings:
        named = {*self.same_as.values(), *self.labels.values(), *(g.heading for g in self.guesses), self.otherwise}
        if unknown := sorted(named - set(self.headings)):
            raise ValueError(f"{unknown[0]!r} is no heading; known: {', '.join(self.headings)}")
        try:
            placeholders = {name for _, name, _, _ in string.Formatter().parse(self.title) if name is not None}
        except ValueError as error:
            raise ValueError(f"title: {error}") from None
        if wrong := sorted(placeholders - _PLACEHOLDERS):
            raise ValueError(f"title: {{{wrong[0]}}} is not known; use {{version}}, {{release}} or {{tag}}")
        if (self.version_file is None) != (self.version_pattern is None):
            raise ValueError("version_file and version_pattern belong together")
        return self

    @cached_property
    def compiled_guesses(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        """The guesses as (heading, pattern)."""
        return tuple((guess.heading, re.compile(guess.pattern, re.IGNORECASE)) for guess in self.guesses)

    def heading_of(self, name: str) -> str | None:
        """Return the heading that `name` (any letter case) is or stands for, None for an unknown one."""
        wanted = " ".join(name.split()).lower()
        if known := {heading.lower(): heading for heading in self.headings}.get(wanted):
            return known
        return {other.lower(): heading for other, heading in self.same_as.items()}.get(wanted)

    def leaves_out(self, name: str) -> bool:
        """Tell whether a box or fragment type called `name` keeps a change out of the notes."""
        return " ".join(name.split()).lower() in {other.lower() for other in self.left_out}
