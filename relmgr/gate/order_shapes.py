"""The shapes of sentences in which people say an order. One mark stands for a reference or a list of them.

Gaps are bounded and hold no reference, so that every shape is read in time linear in the sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from relmgr.gate.marks import REF_END, REF_OPEN

Says = Literal["after", "before", "paired", "nothing"]

REF = f"{REF_OPEN}\\d+{REF_END}"
_SEPARATOR = r"(?: ?(?:,? ?and|,? ?or|as well as|[,;/&+]) ?(?:also |the |on |by )?(?:prs? |pull requests? )?)"
LIST = re.compile(f"{REF}(?:{_SEPARATOR}{REF})*", re.I)
_STOP = (
    r"\b(?:before|after|until|till|once|block|not|which|but|unless|when|if|because|since|so|then|see|fix|clos|now)\w*"
)
_GAP = f"(?:(?!{_STOP})[^{REF_OPEN}{REF_END};]){{0,60}}?"
_ANY = f"[^{REF_OPEN}{REF_END};]{{0,60}}?"
_FEW = r"(?:(?:, ?| )[\w'-]{1,30}){0,4}? ?"
_THIS = r"(?:this(?: (?:one|pr|change|patch|commit|branch|pull request|work))?|ours|the present (?:pr|change))\b"
_MERGE = (
    r"(?:merg(?:e|es|ed|ing)|land(?:s|ed|ing)?|submit(?:s|ted)?|(?:go|goes|get|gets|come|comes|check|checked) in"
    r"|ship(?:s|ped)?)"
)
_MODAL = (
    r"(?:must|should|can|could|needs? to|has to|have to|may|shall|will|is to|are to|ought to|cannot|can't|shouldn't"
    r"|mustn't|won't|to)"
)
_NOT = r"(?:\bnot|\bcannot|n't|\bnever|\bhold off(?: on)?|\bdont)\b"
_LANDS = (
    r"(?:lands?|merges?|(?:is|are|gets?) (?:merged|in|landed|submitted)|goes? in"
    r"|(?:has|have) (?:landed|merged|been (?:merged|landed))|being merged|landing)\b"
)
_IT = (
    r"(?:that|it|the other|the companion|the latter|both|they|those|these)(?: (?:one|pr|change|prs|changes))?"
    rf"(?= ?(?:[,.;!)]|$)| (?:{_LANDS}|first))"
)


@dataclass(frozen=True)
class Shape:
    """A pattern with the group `refs` (without it: the references before it), and what it says of this one to them."""

    says: Says
    pattern: re.Pattern[str]
    about_this: bool = False


def _shape(says: Says, pattern: str, *, about_this: bool = False) -> Shape:
    return Shape(says, re.compile(pattern, re.I), about_this)


_R = f"(?P<refs>{REF})"
_PREREQUISITE = r"pre-?req(?:uisite)?s?"

# In order: the first shape that reaches a reference decides on it. `about_this`: the other one is the subject.
SHAPES: tuple[Shape, ...] = (
    _shape(
        "nothing",
        rf"(?:\bno longer|\bnot|n't|\bnever|\bwithout|\bno) (?:actually |really |strictly |be |been |longer )?"
        rf"(?:depend\w*|requir\w*|need\w*|block\w*|stacked|a {_PREREQUISITE}){_GAP}{_R}",
    ),
    _shape("nothing", rf"\bindependent(?:ly)?(?: of| from){_GAP}{_R}"),
    _shape(
        "after",
        rf"{_R}{_FEW}(?:blocks|is blocking|precedes|is (?:a |the )?{_PREREQUISITE} (?:for|of|to)"
        rf"|is (?:required|needed) (?:by|for)|is a (?:dependency|blocker) (?:of|for)) {_THIS}",
        about_this=True,
    ),
    _shape("after", rf"{_R} (?:is|are) (?:a |the )?{_PREREQUISITE}\b(?! (?:for|of|to))", about_this=True),
    _shape(
        "before",
        rf"{_R}{_FEW}(?:depends? (?:up)?on|relies on|waits? for|requires?|needs?|(?:is )?(?:blocked|gated) (?:by|on)"
        rf"|is stacked on(?: top of)?|builds on|(?:must|should|has to) wait for) {_THIS}",
        about_this=True,
    ),
    _shape(
        "before",
        rf"{_R}{_FEW}{_MODAL}{_FEW}{_MERGE}{_GAP}(?:after|once|until|when|following) {_THIS}",
        about_this=True,
    ),
    _shape(
        "before",
        rf"{_R}{_FEW}(?:(?:must|should|can|may|will) ?not|cannot|can't|shouldn't|mustn't) (?:be )?{_MERGE} before"
        rf" {_THIS}",
        about_this=True,
    ),
    _shape("after", rf"\b(?:depend(?:s|ent|ing|ency|encies)?[- ](?:up)?on|rel(?:y|ies|ying) on)\b ?:?{_GAP}{_R}"),
    _shape(
        "after",
        rf"{_R}{_FEW}(?:{_MODAL} )?(?:be |being )?{_MERGE}{_GAP}"
        rf"(?:first|before (?:{_THIS}|it|we|that|merging|landing)|ahead of {_THIS})",
        about_this=True,
    ),
    _shape("after", rf"(?<!to be )\b(?:merge|land) {_GAP}{_R} first\b"),
    _shape("after", rf"{_NOT}{_GAP}{_MERGE}{_ANY}\b(?:until|till|before|unless|prior to) {_GAP}{_R}"),
    _shape(
        "after",
        rf"\b(?:{_MERGE}|wait\w*|hold|on hold|held|rebase)\b{_GAP}\b(?:after|once|as soon as|until|till|following|when)"
        rf" {_GAP}{_R}",
    ),
    _shape("before", rf"{_MERGE}{_GAP}\b(?:before|prior to|ahead of) {_GAP}{_R}"),
    _shape("before", rf"(?<=\band )(?:before|ahead of) {_GAP}{_R}"),
    _shape(
        "after",
        rf"\b(?:once|after|as soon as|when|until|till) (?:merging |landing )?{_GAP}{_R}{_FEW}{_LANDS}",
    ),
    _shape("after", rf"\b(?:after|once) (?:merging|landing) {_GAP}{_R}"),
    _shape(
        "before",
        rf"\b(?:blocks|blocking|unblocks|precedes|{_PREREQUISITE} (?:for|of|to)|(?:required|needed) (?:by|for)"
        rf"|(?:dependency|blocker) (?:of|for))\b ?:?{_GAP}{_R}",
    ),
    _shape(
        "after",
        rf"\b(?:blocked|gated|waiting|waits?|pending|held(?: up| back)?|hold|on hold|stacked|stacks|builds?)"
        rf" (?:by|on|for|until|till|upon|behind)\b(?: top of)? ?:?{_GAP}{_R}",
    ),
    _shape("after", rf"\bon top of {_GAP}{_R}"),
    _shape(
        "after", rf"\b(?:requires?|requiring|needs?|needing|{_PREREQUISITE}|prerequisite)\b ?(?:is |are )?:?{_GAP}{_R}"
    ),
    _shape("paired", rf"\b(?:pair(?:s|ed|ing)?|tandem|lock-?step|hand in hand) (?:with|to)\b ?:?{_GAP}{_R}"),
    _shape(
        "paired",
        rf"\b{_MERGE}{_GAP}\b(?:together|along|simultaneously|jointly|at the same time|at once) (?:with|as) {_GAP}{_R}",
    ),
    _shape("paired", rf"{_R}{_FEW}{_MODAL} (?:be )?{_MERGE} together\b"),
    _shape(
        "after",
        rf"\bpin(?:s|ned)?\b{_GAP}\b(?:points?|pointing|set|is|moved) (?:at|to) {_GAP}{_R}(?:'s)? (?:branch|head)",
    ),
)

# "... should not be merged until that lands": the references before it are meant.
PRONOUNS: tuple[Shape, ...] = (
    _shape("after", rf"{_NOT}{_GAP}{_MERGE}{_ANY}\b(?:until|till|before|unless) {_IT}"),
    _shape("after", rf"\b(?:{_MERGE}|wait\w*|hold|held)\b{_GAP}\b(?:after|once|as soon as|until|till|when) {_IT}"),
    _shape("after", rf"\bpin(?:s|ned)?\b{_GAP}\b(?:points?|pointing|set|is) (?:at|to) that pr(?:'s)? (?:branch|head)"),
    _shape("before", rf"\b{_MERGE}{_GAP}\bbefore {_IT}"),
)

# Weakest: said of references that nothing else in the sentence, nor a pronoun after it, has decided.
LAST: tuple[Shape, ...] = (
    _shape("paired", rf"\bcompanion\b{_GAP}{_R}"),
    _shape("paired", rf"{_R} (?:is|are) (?:the |its |a )?companion\b"),
    _shape(
        "nothing",
        rf"\b(?:supersed\w*|replac\w*|obsolet\w*|follow(?:s|ing)?[- ]?ups?|continu\w*|split\w*|see|related|relates"
        rf"|similar|like|revert\w*|fix|fixes|fixed|close|closes|closed|resolv\w*|same as|duplicat\w*|cherry[- ]?pick\w*"
        rf"|backport\w*|introduced|reported|discuss\w*|mention\w*|regress\w*|thanks to|as in){_ANY}{_R}",
    ),
)

_ARROW = (
    r" ?(?:-+>|=+>|→|>|,? ?\bthen\b"
    r"|,? ?\b(?:must |should )?(?:lands? |merges? |goes |be merged |is merged )?before\b) ?"
)
_LINK = f"(?:{REF}|\\bthis(?: pr| one)?\\b)"
CHAIN = re.compile(f"{_LINK}(?:{_ARROW}{_LINK})+", re.I)
LINKS = re.compile(_LINK, re.I)

WISH = re.compile(
    r"\b(?:would|might|may|could) (?:also )?be (?:better|nice|nicer|good|great|best|ideal|preferable|cleaner|easier)"
    r"|\b(?:would|might) be worth\b"
    r"|\b(?:ideally|preferabl[ey]|prefer|hopefully|nice to have|if possible|would like|would love)\b",
    re.I,
)
PAST = re.compile(r"\b(?:was|were|got|had been|has been|have been|already|rebased|been) ?$", re.I)
CONDITION = re.compile(r"\bif\b[^,;]{0,80}$|^if\b", re.I)
# A sentence without any of these words says no order: most are read no further.
WORDS = re.compile(
    r"depend|requir|need|block|pre-?req|merg|land|stack|pair|companion|wait|pend|hold|held|gate|before|after|until|till"
    r"|once|pin|preced|build|rely|reli|first|tandem|step|top of|ahead|prior|->|=>|→|>|then|supersed|follow|soon",
    re.I,
)
CUE = re.compile(
    r"\b(?:depend\w*|requires?|required|blocked|blocks|blocking|prerequisites?|stacked|paired|companion|waiting|waits?)\b"
    r"|\b(?:merg\w+|land\w*)\b.{0,80}\b(?:before|after|until|till|once|first)\b"
    r"|\b(?:before|after|until|till|once)\b.{0,80}\b(?:merg\w+|lands?|landed)\b",
    re.I | re.S,
)
SUBJECT = re.compile(
    rf"({REF})(?:'s \w+)?,? ?(which|that|who|and that)?,? ?"
    r"(?:(?:also|itself|in turn|then|will|now|currently|pr|has|is|are|a|the|must|should|be)\b ?){0,6}$",
    re.I,
)

INTRODUCTIONS: tuple[tuple[Says | Literal["sequence"], re.Pattern[str]], ...] = (
    (
        "sequence",
        re.compile(
            r"\b(?:merge|merging|landing|land) order\b|\border of merg|\bin (?:this|the following) order\b", re.I
        ),
    ),
    ("nothing", re.compile(r"\b(?:follow[- ]?ups?|supersed\w*|related|see also|fix(?:es|ed)?|not)\b", re.I)),
    ("before", re.compile(rf"\b(?:blocks|(?:needed|required) (?:by|for)|{_PREREQUISITE} (?:for|of|to))\b", re.I)),
    ("paired", re.compile(r"\b(?:paired with|merge(?:d)? together|companions?)\b", re.I)),
    (
        "after",
        re.compile(
            rf"\b(?:depend(?:s|ent|ing)? (?:up)?on|dependenc(?:y|ies)|requires?|{_PREREQUISITE}"
            r"|blocked (?:by|on)|needs?|wait(?:s|ing)? (?:for|on)"
            r"|(?:merged?|land(?:s|ed)?) (?:these |after )?(?:first)?)\b",
            re.I,
        ),
    ),
)
TODO = re.compile(rf"^(?:wait (?:for|on)|merge|land)\b{_GAP}{REF}|{REF}{_FEW}(?:merged|landed|lands|merges)\b", re.I)
