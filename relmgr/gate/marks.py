"""Marks inside visible text: private characters that stand for what a reader sees but the text does not spell.

LINK_OPEN index LINK_MID label LINK_END    a link; its target is kept beside the text
BREAK                                      a line break that is none in the source
CODE, STRUCK                               where inline code, or struck or quoted text, stood
"""

from __future__ import annotations

import re

LINK_OPEN, LINK_MID, LINK_END = "\ue000", "\ue001", "\ue002"
CODE, STRUCK, BREAK = "\ue003", "\ue004", "\ue005"
REF_OPEN, REF_END = "\ue010", "\ue011"

_MARKS = re.compile("[\ue000-\ue01f\x00]")
_LINK = re.compile(f"{LINK_OPEN}\\d+{LINK_MID}|{LINK_END}")


def strip_marks(text: str) -> str:
    """Return a stranger's text without characters that could pass for marks."""
    return _MARKS.sub("\ufffd", text)


def spoken(text: str) -> str:
    """Return visible text for people: link labels as they read, `...` where code or struck text stood."""
    return " ".join(_LINK.sub("", text).replace(CODE, "...").replace(STRUCK, "...").split())
