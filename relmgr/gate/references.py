"""References to pull requests in visible text: every form people use, and look-alikes with the reason they are none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from relmgr.gate.marks import LINK_END, LINK_MID, LINK_OPEN, REF_END, REF_OPEN
from relmgr.model.project import Project
from relmgr.model.pull_request import PullRequestRef

_NUMBER = r"[1-9]\d{0,8}"
_SLUG = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[A-Za-z0-9_.-]{1,100}"
_FOUND = re.compile(
    rf"""
    {LINK_OPEN}(?P<link>\d+){LINK_MID}(?P<label>[^{LINK_END}]*){LINK_END}?
    | (?<![\w@:/.-])(?P<url>(?:https?://|www\.|(?=[a-z0-9.-]{{1,80}}/[^\s/]{{1,40}}/[^\s/]{{1,100}}/(?:pull|issues)/\d)
        (?<![\w]))[^\s<>{LINK_OPEN}-{LINK_END}]{{3,2000}})
    | (?<![\w/.#&-])(?P<slug>{_SLUG})\#(?P<slug_number>\d{{1,12}})(?![\w])
    | (?<![\w/.#&-])(?P<name>[A-Za-z][\w.-]{{0,60}})\#(?P<name_number>\d{{1,12}})(?!\w)
    | (?<![\w/#&])(?:\#|gh-(?=\d))(?P<hash>\d{{1,12}})(?!\w)
    | \b(?:prs?|pull\ requests?)\ (?P<bare>{_NUMBER})(?![\w.]*\w)
    """,
    re.X | re.I,
)
_PATH = re.compile(r"/([^/]+)/([^/]+)/(pull|issues|pulls)/(\d{1,12})(?:/|$)")
_NOT_PULLS = ("issue", "bug", "ticket", "step", "item", "point")
_PULL_WORDS = ("pr", "prs", "pull", "request", "requests")
_TRAILING = ".,;:!?'\")]}>*_"


@dataclass(frozen=True)
class Reference:
    """A place in the text that names a pull request (`ref`), or looks so and does not (`why`).

    `bare`: only a word and a number, enough for prose, not for a trailer.
    """

    start: int
    end: int
    text: str
    ref: PullRequestRef | None
    why: str = ""
    bare: bool = False


class ReferenceReader:
    """Reads references in the text of one pull request of a project."""

    def __init__(self, project: Project, this: PullRequestRef) -> None:
        self.project = project
        self.this = self._named(this.repository, this.number)
        self._words: dict[str, set[str]] = {}
        for repository in project.repositories.values():
            names = {slug.partition("/")[2] for slug in repository.names()} | set(repository.words)
            for name in names:
                self._words.setdefault(name.lower(), set()).add(repository.slug)

    def find(self, text: str, links: tuple[str, ...]) -> Iterator[Reference]:
        """Yield the references and look-alikes in visible text, in order."""
        for match in _FOUND.finditer(text):
            found = self._read(match, text, links)
            if found is not None:
                yield found

    def repository_of_word(self, word: str) -> str | None:
        """Return the repository that a word in prose means, if it is one and only one."""
        known = self._words.get(word.lower(), set())
        return next(iter(known)) if len(known) == 1 else None

    def _read(self, match: re.Match[str], text: str, links: tuple[str, ...]) -> Reference | None:
        start, end = match.span()
        if match["link"] is not None:
            return self._link(match, links)
        if match["url"] is not None:
            url = match["url"].rstrip(_TRAILING)
            return self._url(url, start, start + len(url), url)
        if match["slug"] is not None:
            return self._reference(start, end, match[0], match["slug"], match["slug_number"])
        if match["name"] is not None:
            slug = self.repository_of_word(match["name"])
            if slug is None:
                return Reference(start, end, match[0], None, f"{match['name']} is no repository of this project")
            return self._reference(start, end, match[0], slug, match["name_number"])
        return self._number(match, text)

    def _number(self, match: re.Match[str], text: str) -> Reference | None:
        """Read `#5` or `PR 5`: of this repository, or of the one that the word before it names."""
        start, end = match.span()
        words = text[max(0, start - 64) : start].split() if text[start - 1 : start] == " " else []
        named = words.pop() if words else ""
        if (kind := named.lower().rstrip("s")) in _NOT_PULLS:
            return Reference(start, end, match[0], None, f"a number of {kind}s, not of pull requests")
        while named.lower() in _PULL_WORDS and words:
            named = words.pop()
        slug = self.this.repository
        if other := self.repository_of_word(named):
            slug, start = other, text.rindex(named, 0, start)
        bare = match["bare"] is not None
        return self._reference(start, end, text[start:end], slug, match["bare"] or match["hash"], bare=bare)

    def _link(self, match: re.Match[str], links: tuple[str, ...]) -> Reference | None:
        target = links[int(match["link"])] if int(match["link"]) < len(links) else ""
        found = self._url(target, match.start(), match.end(), match["label"] or target)
        if found is not None:
            return found
        if _FOUND.search(match["label"]):
            why = "the link leads elsewhere than its text says"
            return Reference(match.start(), match.end(), match["label"], None, why)
        return None

    def _url(self, url: str, start: int, end: int, text: str) -> Reference | None:
        """Read a URL; None for one that does not even look like a pull request's."""
        try:
            parts = urlsplit(url if "://" in url else f"https://{url}")
            host = parts.netloc.lower()
        except ValueError:
            return None
        path = _PATH.match(parts.path)
        if path is None:
            return None
        if host not in (self.project.forge.lower(), f"www.{self.project.forge.lower()}"):
            return Reference(start, end, text, None, f"{host} is not {self.project.forge}")
        if path[3] == "issues":
            return Reference(start, end, text, None, "an issue, not a pull request")
        if path[3] == "pulls":
            return Reference(start, end, text, None, "no address of a pull request: write /pull/NUMBER")
        return self._reference(start, end, text, f"{path[1]}/{path[2]}", path[4])

    def _reference(self, start: int, end: int, text: str, slug: str, number: str, *, bare: bool = False) -> Reference:
        if not re.fullmatch(_NUMBER, number) or not re.fullmatch(_SLUG, slug):
            return Reference(start, end, text, None, "no name of a pull request")
        return Reference(start, end, text, self._named(slug, int(number)), bare=bare)

    def _named(self, slug: str, number: int) -> PullRequestRef:
        """Return the pull request under the present name of its repository."""
        name = self.project.repository_named(slug)
        return PullRequestRef(repository=self.project.repositories[name].slug if name else slug, number=number)


def mark_references(text: str, references: list[Reference]) -> str:
    """Return the text with each reference replaced by a mark that holds its index."""
    pieces, at = [], 0
    for index, reference in enumerate(references):
        pieces += [text[at : reference.start], f"{REF_OPEN}{index}{REF_END}"]
        at = reference.end
    return "".join((*pieces, text[at:]))
