"""Events in prose that are no pull requests: a train's branch, a day, the next move of a pin."""

from __future__ import annotations

import re
from collections.abc import Iterator

from relmgr.errors import UserError
from relmgr.model.order import MergeEvent
from relmgr.model.project import Project
from relmgr.model.times import parse_date

_CUE = (
    r"\b(?P<cue>after|once|when|until|till|before|following|as soon as|wait(?:s|ing)? (?:for|on)"
    r"|hold(?:ing)?(?: off)? for)\b"
)
_VERSION = r"(?:(?P<word>[A-Za-z]+)[ -])?(?:[\w/.-]{0,40}-)?(?P<version>\d{1,3}\.\d{1,3})(?!\.?\d)(?:\.x\b)?"
_GAP = r"[^;]{0,50}?"
_CUT = (
    re.compile(rf"{_CUE}{_GAP}\b(?:branch(?:es)?|cuts?|forks?)\b[^;\d]{{0,24}}?\b{_VERSION}", re.I),
    re.compile(
        rf"{_CUE}{_GAP}\b{_VERSION}(?:'s)? (?:release )?(?:branch(?:es)?\b|cut\b|fork\b"
        r"|(?:is|has been|gets) (?:branched|cut|forked))",
        re.I,
    ),
)
_PIN = re.compile(
    rf"{_CUE}[^;]{{0,40}}?\b(?:pin|commit pointer|pointer|commit hash|submodule)\b[^;]{{0,30}}?"
    r"\b(?:is|gets|has been|are|being)? ?(?:updated?|updates|bump(?:ed|s)?|move[sd]?|advance[sd]?|changed)\b"
    r"(?: to (?P<ref>[0-9A-Za-z][\w./-]{2,60}\w))?",
    re.I,
)
_DAY = re.compile(
    r"\b(?:merg\w+|land\w*|wait\w*|hold|not|go in)\b[^;]{0,40}?\b"
    r"(?P<cue>after|until|till|before) (?P<day>\d{4}-\d\d-\d\d)\b",
    re.I,
)
_NEGATED = re.compile(r"(?:\bnot|n't|\bnever|\bcannot|\bnothing)\b[^;]{0,40}$", re.I)
_PAST = re.compile(r"\b(?:was|were|had been|got)\b", re.I)
_PREFIX = re.compile(r"\^?([A-Za-z][A-Za-z_-]*)(?:\\d|\()")


def find_events(sentence: str, project: Project) -> Iterator[tuple[MergeEvent, str]]:
    """Yield the events that a sentence wants to wait for, each with the cue that says so."""
    for pattern in _CUT:
        for match in pattern.finditer(sentence):
            if _waits(match, sentence):
                word = match["word"] or ""
                yield (
                    MergeEvent(kind="cut", train=train_name(project, word, match["version"]), source=sentence),
                    match[0],
                )
    for match in _PIN.finditer(sentence):
        if _waits(match, sentence):
            yield MergeEvent(kind="pin", ref=match["ref"], source=sentence), match[0]
    for match in _DAY.finditer(sentence):
        negated = match["cue"].lower() != "before" or _NEGATED.search(sentence[: match.start("cue")])
        try:
            day = parse_date(match["day"])
        except UserError:
            continue
        if negated:
            yield MergeEvent(kind="date", day=day, source=sentence), match[0]


def _waits(match: re.Match[str], sentence: str) -> bool:
    """Tell whether it is a wait: "before the branch" is one only after "not"; what has happened is none."""
    if _PAST.search(match[0]):
        return False
    return match["cue"].lower() != "before" or bool(_NEGATED.search(sentence[: match.start("cue")]))


def train_name(project: Project, word: str, version: str) -> str:
    """Return a train's name as the project's release tags are named, else its bare version."""
    prefixes = [f"{word.lower()}-"] if word else []
    patterns = [repository.release_tags for repository in project.repositories.values()]
    prefixes += [found[1] for pattern in patterns if (found := _PREFIX.match(pattern)) and len(found[1]) > 1]
    for name in (f"{prefix}{version}" for prefix in prefixes):
        if any(re.search(pattern, name) for pattern in patterns):
            return name
    return version
