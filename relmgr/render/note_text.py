"""Text of strangers inside notes (N6): no mention, no link to another thread, no markup that breaks out."""

from __future__ import annotations

import re

from relmgr.render.engine import md_text, plain

_CODE = re.compile(r"(?P<mark>`+)(?!`)(?P<code>.+?)(?<!`)(?P=mark)(?!`)")
_LINK = re.compile(r"(?<!!)\[(?P<label>[^][\n]*)\]\((?P<target>https?://[^\s()<>]+)\)")
_REFERENCE = re.compile(r"#(?=\d)")
_GH = re.compile(r"\bGH-(?=\d)", re.IGNORECASE)
_WWW = re.compile(r"\bwww\.", re.IGNORECASE)
# A forge makes a link of a bare commit id and tells that commit's page.
_SHA = re.compile(r"\b(?=[0-9a-f]*\d)([0-9a-f]{3})(?=[0-9a-f]{4,37}\b)")
_GAP = "\u200b"


def defuse(value: object) -> str:
    """Return a stranger's plain text for Markdown: nothing in it is markup, a mention or a link."""
    return _unlinked(md_text(value))


def code(value: object) -> str:
    """Return a name, such as a ref's or a file's, as a code span that nothing in it can end."""
    return f"`{plain(value).replace('`', chr(39))}`"


def defuse_markdown(value: object) -> str:
    """Return one line of a fragment: its emphasis, code and web links stay; mentions, references and HTML do not."""
    text = plain(value)
    made, end = [], 0
    for match in _spans(text):
        made += [_around(text[end : match.start()]), _span(match)]
        end = match.end()
    return "".join([*made, _around(text[end:])])


def _spans(text: str) -> list[re.Match[str]]:
    """Return code spans and web links that do not overlap, in order."""
    found: list[re.Match[str]] = []
    for match in sorted([*_CODE.finditer(text), *_LINK.finditer(text)], key=lambda m: m.start()):
        if not found or match.start() >= found[-1].end():
            found.append(match)
    return found


def _span(match: re.Match[str]) -> str:
    if match.re is _CODE:
        return match[0]
    return f"[{_around(match['label'])}]({match['target'].replace('|', '%7C')})"


def _around(text: str) -> str:
    """Return text outside code: emphasis stays."""
    for mark, instead in (("`", "\\`"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|"), ("[", "\\["), ("]", "\\]")):
        text = text.replace(mark, instead)
    return _unlinked(text.replace("@", f"@{_GAP}"))


def _unlinked(text: str) -> str:
    text = _REFERENCE.sub(f"#{_GAP}", text.replace("://", f":{_GAP}//"))
    text = _WWW.sub(f"www{_GAP}.", _GH.sub(f"\\g<0>{_GAP}", text))
    return _SHA.sub(f"\\1{_GAP}", text)
