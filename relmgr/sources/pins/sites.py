"""Read and rewrite the pin in one file, losslessly.

Text is taken as UTF-8 with undecodable bytes kept (`surrogateescape`), so that every byte outside a rewritten word
stays as it was. Only what the tool that reads the file would act on is live: comments are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from relmgr.errors import UserError
from relmgr.model.pins import RefKind, SitePin
from relmgr.model.project import Repository, Site
from relmgr.sources.git.clone import HEX40

MAX_PIN_FILE = 8 * 1024 * 1024
_VERSION_LIKE = re.compile(r"^v?\d+(?:\.\d+)+(?:[-.+]\w+)*$")


class Span(NamedTuple):
    """A half-open range of characters in the file's text."""

    start: int
    end: int


@dataclass(frozen=True)
class Found:
    """A live pin in a text: what it says, and where each rewritable word stands (`options` include -H's)."""

    pin: SitePin
    ref: Span
    repository: tuple[Span, ...] = ()
    digest: Span | None = None
    options: tuple[Span, ...] = ()


@dataclass(frozen=True)
class Intent:
    """What a rewritten pin must say; None leaves a part as it is, `drop_digest` removes `-H` and its value."""

    ref: str
    repository: str | None = None
    digest: str | None = None
    drop_digest: bool = False
    flags: tuple[tuple[str, str], ...] = ()


def decode(data: bytes) -> str:
    """Return a file's text so that `encode` gives the same bytes back."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """Return the bytes of a text that came from `decode`."""
    return text.encode("utf-8", "surrogateescape")


def parse_site(data: bytes, site: Site, provider: Repository) -> list[Found]:
    """Return the live pins of `provider` that `site` writes in a file's bytes, in file order.

    A file larger than 8 MiB or with NUL bytes holds no pin that a build tool would read: it gives none.
    """
    if len(data) > MAX_PIN_FILE or b"\0" in data:
        return []
    if not _may_name(data, site, provider):
        return []
    found = _PARSERS[site.kind](decode(data), site, provider)
    return [
        replace(item, pin=item.pin.model_copy(update={"ref_kind": ref_kind(item.pin.ref, provider)})) for item in found
    ]


def ref_kind(ref: str, provider: Repository) -> RefKind | None:
    """Return what a ref is by its spelling alone; None when the spelling does not tell."""
    if HEX40.match(ref):
        return "sha"
    if re.match(provider.release_tags, ref) or _VERSION_LIKE.match(ref):
        return "tag"
    if (
        ref == provider.default_branch
        or re.match(provider.all_branches, ref)
        or re.match(provider.release_branches, ref)
    ):
        return "branch"
    if ref.startswith("refs/tags/"):
        return "tag"
    return "branch" if "/" in ref or ref.upper() == "HEAD" else None


def rewrite(data: bytes, site: Site, provider: Repository, intent: Intent, line: int | None = None) -> bytes:
    """Return the file's bytes with the pin rewritten (the one at `line`, else every live one).

    Every other byte is kept. The result is parsed again and must say what was intended, else `UserError`.
    """
    found = [item for item in parse_site(data, site, provider) if line is None or item.pin.line == line]
    if not found:
        raise UserError(f"no live pin of {provider.slug}", where=site.label(), next_step="check the site's settings")
    text = decode(data)
    edits: list[tuple[Span, str]] = []
    for item in found:
        edits += _edits(text, item, intent)
    for span, new in sorted(set(edits), reverse=True):
        text = text[: span.start] + new + text[span.end :]
    result = encode(text)
    renamed = replace_alias(provider, intent.repository)
    lines = {item.pin.line for item in found}
    again = [item.pin for item in parse_site(result, site, renamed) if item.pin.line in lines]
    if len(again) != len(found) or not all(_says(pin, intent) for pin in again):
        raise UserError(
            "the rewritten line does not read back as intended", where=site.label(), next_step="edit by hand"
        )
    return result


def replace_alias(provider: Repository, slug: str | None) -> Repository:
    """Return `provider` also known as `slug`."""
    if slug is None or provider.is_named(slug):
        return provider
    return provider.model_copy(update={"aliases": (*provider.aliases, slug)})


def _says(pin: SitePin, intent: Intent) -> bool:
    return (
        pin.ref == intent.ref
        and (intent.repository is None or pin.repository == intent.repository)
        and (intent.digest is None or pin.digest == intent.digest)
        and not (intent.drop_digest and pin.digest)
        and not any(old in _flag_names(pin.options) for old, _ in intent.flags)
    )


def _flag_names(options: tuple[str, ...]) -> set[str]:
    return {option[2:].split("=")[0] for option in options if option.startswith("-D")}


def _edits(text: str, item: Found, intent: Intent) -> list[tuple[Span, str]]:
    edits = [(item.ref, intent.ref)]
    if intent.repository is not None:
        edits += [(span, intent.repository) for span in item.repository]
    if intent.digest is not None and item.digest:
        edits.append((item.digest, intent.digest))
    elif intent.digest is not None:
        edits.append((Span(item.ref.end, item.ref.end), f" -H {intent.digest}"))
    elif intent.drop_digest and item.digest:
        start = text.rindex("-H", 0, item.digest.start)
        while start > item.ref.end and text[start - 1] in " \t":
            start -= 1
        edits.append((Span(start, item.digest.end), ""))
    for old, new in intent.flags:
        for span in item.options:
            word = text[span.start : span.end]
            if re.match(rf"-D{re.escape(old)}(?=[=:]|$)", word):
                edits.append((Span(span.start + 2, span.start + 2 + len(old)), new))
    return edits


def _may_name(data: bytes, site: Site, provider: Repository) -> bool:
    """Tell cheaply whether the file can hold such a pin at all: history scans read thousands of files."""
    if site.kind in ("one-line", "gitlink"):
        return True
    if site.variable is not None:
        return site.variable.encode() in data
    folded = data.lower()
    return any(name.lower().encode() in folded for name in provider.names())


# -- words -----------------------------------------------------------------------------------------------------------

_WORD = re.compile(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""")


def _words(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the shell-like words of text[start:end]: quotes and backslashes bind, and stay part of the word."""
    for match in _WORD.finditer(text, start, end):
        yield Span(*match.span())


def _unquote(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'" else word


def _lines(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield (number, start, end) of each line, without its line end."""
    start = 0
    for number, line in enumerate(text.split("\n"), 1):
        yield number, start, start + len(line.rstrip("\r"))
        start += len(line) + 1


def _package(text: str, span: Span, provider: Repository) -> tuple[Span, str, Span | None, str] | None:
    """Read `owner/repo@ref` in one word; return (repository span, slug, ref span, ref) when it names the provider."""
    word = text[span.start : span.end]
    quoted = 1 if word[:1] in ("'", '"') else 0
    slug, at, ref = _unquote(word).partition("@")
    if not provider.is_named(slug):
        return None
    start = span.start + quoted
    repository = Span(start, start + len(slug))
    if not at or not ref:
        return repository, slug, None, "HEAD"
    return repository, slug, Span(repository.end + 1, repository.end + 1 + len(ref)), ref


def _package_pin(
    text: str, site: Site, line: int, package: tuple[Span, str, Span | None, str], options: list[Span]
) -> Found:
    repository, slug, ref_span, ref = package
    words = [text[span.start : span.end] for span in options]
    digest_at: int | None = None
    digest_span: Span | None = None
    for index, word in enumerate(words):
        if word in ("-H", "--hash") and index + 1 < len(words):
            digest_at, digest_span = index, options[index + 1]
        elif word.startswith(("-Hsha256:", "--hash=")):
            digest_at = index
            digest_span = Span(options[index].start + (2 if word.startswith("-H") else 7), options[index].end)
    digest = _unquote(text[digest_span.start : digest_span.end]) if digest_span else None
    skipped = (
        set() if digest_at is None else {digest_at, digest_at + (1 if words[digest_at] in ("-H", "--hash") else 0)}
    )
    kept = tuple(word for index, word in enumerate(words) if index not in skipped)
    pin = SitePin(site=site.label(), line=line, repository=slug, ref=ref, ref_kind=None, digest=digest, options=kept)
    at = ref_span or Span(repository.end, repository.end)
    return Found(pin, at, (repository,), digest_span, tuple(options))


# -- the kinds of site -----------------------------------------------------------------------------------------------


def _parse_cget(text: str, site: Site, provider: Repository) -> list[Found]:
    """One package a line, `#` starts a comment; options may be quoted and hold `;` and blanks."""
    found = []
    folded = tuple(name.lower() for name in provider.names())
    for number, start, end in _lines(text):
        line = text[start:end]
        if not line.lstrip(" \t\ufeff\"'").lower().startswith(folded):
            continue
        words = list(_words(text, start + (1 if line.startswith("\ufeff") else 0), end))
        comment = next((i for i, span in enumerate(words) if text[span.start] == "#"), len(words))
        words = words[:comment]
        if words and (package := _package(text, words[0], provider)):
            found.append(_package_pin(text, site, number, package, words[1:]))
    return found


def _parse_cget_command(text: str, site: Site, provider: Repository) -> list[Found]:
    """`cget ... install owner/repo@ref OPTIONS` inside a RUN instruction, over its continuation lines."""
    found = []
    for number, start, joined in _instructions(text):
        words = list(_words(joined, 0, len(joined)))
        texts = [joined[span.start : span.end] for span in words]
        for index, word in enumerate(texts):
            if word.rsplit("/", 1)[-1] != "cget":
                continue
            stop = next((i for i in range(index, len(texts)) if texts[i] in ("&&", "||", ";", "|")), len(texts))
            for i in range(index + 1, stop):
                span = Span(words[i].start + start, words[i].end + start)
                if package := _package(text, span, provider):
                    options = [Span(w.start + start, w.end + start) for w in words[i + 1 : stop]]
                    line = number + joined.count("\n", 0, words[i].start)
                    found.append(_package_pin(text, site, line, package, options))
    return found


def _instructions(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (first line, offset, text) of each Dockerfile instruction, comments and continuations blanked out.

    The yielded text has the instruction's own length, so that offsets in it are offsets in the file.
    """
    first, offset = 0, 0
    parts: list[str] = []
    for number, start, end in _lines(text):
        line = text[start : end + 1] if end < len(text) else text[start:end]
        raw = text[start:end]
        if raw.lstrip().startswith("#"):
            if parts:
                parts.append(_blank(raw) + "\n" * (len(line) - len(raw)))
            continue
        if not parts:
            first, offset = number, start
        continued = raw.rstrip().endswith("\\")
        body = raw
        if continued:
            cut = raw.rstrip().rindex("\\")
            body = raw[:cut] + " " * (len(raw) - cut)
        rest = text[end : text.find("\n", end) + 1] if text.find("\n", end) >= 0 else ""
        parts.append(body + rest)
        if not continued:
            yield first, offset, "".join(parts)
            parts = []
    if parts:
        yield first, offset, "".join(parts)


def _blank(text: str) -> str:
    return " " * len(text)


_URL = re.compile(r"https?://(?:www\.)?github\.com/([\w.-]+)/([\w.-]+?)(?:\.git)?(?=[/\s\"'#?]|$)", re.IGNORECASE)


def _parse_shell_variable(text: str, site: Site, provider: Repository) -> list[Found]:
    """`export NAME=ref`, `ARG NAME=ref`, `ENV NAME=ref`; the repository from the wget or clone line that uses it."""
    assert site.variable
    name = re.escape(site.variable)
    assignment = re.compile(
        rf"(?<![\w$-]){name}\s*(?:=|(?<=\w)\s)\s*(?P<quote>[\"']?)(?P<ref>[\w./+-]+)(?P=quote)(?=[\s;&|]|$)"
    )
    found = []
    lines = list(_lines(text))
    for number, start, end in lines:
        line = text[start:end]
        if site.variable not in line or line.lstrip().startswith("#"):
            continue
        for match in assignment.finditer(line):
            slug, spans = _url_beside(text, lines, number, site, provider)
            if slug is not None and not provider.is_named(slug):
                continue
            ref = match["ref"]
            pin = SitePin(site=site.label(), line=number, repository=slug or site.repository, ref=ref, ref_kind=None)
            found.append(Found(pin, Span(start + match.start("ref"), start + match.end("ref")), spans))
    return found


def _url_beside(
    text: str, lines: list[tuple[int, int, int]], number: int, site: Site, provider: Repository
) -> tuple[str | None, tuple[Span, ...]]:
    """Return the repository of the URL on a line with `$NAME`, else the provider's next URL in the file."""
    uses = re.compile(rf"\$\{{?{re.escape(site.variable or '')}\b")
    named: tuple[str, Span] | None = None
    later: tuple[str, Span] | None = None
    for at, start, end in lines:
        line = text[start:end]
        if line.lstrip().startswith("#") or "github.com" not in line.lower():
            continue
        for match in _URL.finditer(line):
            slug = f"{match[1]}/{match[2]}"
            span = Span(start + match.start(1), start + match.end(2))
            if named is None and uses.search(line):
                named = (slug, span)
            if later is None and at >= number and provider.is_named(slug):
                later = (slug, span)
    chosen = named or later
    return (chosen[0], (chosen[1],)) if chosen else (None, ())


def _parse_one_line(text: str, site: Site, provider: Repository) -> list[Found]:
    """A file whose first word that is no comment is the ref, or `owner/repo@ref`."""
    for number, start, end in _lines(text):
        words = list(_words(text, start, end))
        if not words or text[words[0].start] == "#":
            continue
        word = text[words[0].start : words[0].end]
        if "@" in word:
            package = _package(text, words[0], provider)
            return [_package_pin(text, site, number, package, words[1:])] if package else []
        pin = SitePin(
            site=site.label(), line=number, repository=site.repository or provider.slug, ref=word, ref_kind=None
        )
        return [Found(pin, words[0])]
    return []


_CMAKE_REPOSITORY = re.compile(r"GIT_REPOSITORY\s+[\"']?(\S+?)[\"']?(?=[\s)]|$)", re.IGNORECASE)


def _parse_cmake_variable(text: str, site: Site, provider: Repository) -> list[Found]:
    """`set(NAME "ref" ...)`; the repository from a GIT_REPOSITORY in the file, else the setting."""
    assert site.variable
    code = re.sub(r"#[^\n]*", lambda match: _blank(match[0]), text)
    pattern = re.compile(rf"(?i:\bset)\s*\(\s*{re.escape(site.variable)}\s+(?P<quote>\"?)(?P<ref>[^\s\")]+)(?P=quote)")
    slug = site.repository
    for match in _CMAKE_REPOSITORY.finditer(code):
        if (url := _URL.match(match[1])) and provider.is_named(f"{url[1]}/{url[2]}"):
            slug = f"{url[1]}/{url[2]}"
    found = []
    for match in pattern.finditer(code):
        line = text.count("\n", 0, match.start("ref")) + 1
        pin = SitePin(site=site.label(), line=line, repository=slug or provider.slug, ref=match["ref"], ref_kind=None)
        found.append(Found(pin, Span(*match.span("ref"))))
    return found


def parse_gitlink(oid: str, gitmodules: bytes | None, site: Site, provider: Repository) -> SitePin:
    """Return the pin of a gitlink: its commit, and the repository that `.gitmodules` names for its path."""
    slug = site.repository
    for block in decode(gitmodules or b"").split("[submodule")[1:]:
        path = re.search(r"^\s*path\s*=\s*(.+?)\s*$", block, re.MULTILINE)
        url = re.search(r"^\s*url\s*=\s*(.+?)\s*$", block, re.MULTILINE)
        if path and url and path[1] == site.path:
            match = re.search(r"[:/]([\w.-]+/[\w.-]+?)(?:\.git)?$", url[1])
            slug = match[1] if match else slug
    return SitePin(site=site.label(), line=None, repository=slug or provider.slug, ref=oid, ref_kind="sha")


def _no_text(text: str, site: Site, provider: Repository) -> list[Found]:
    return []


_PARSERS = {
    "cget": _parse_cget,
    "cget-command": _parse_cget_command,
    "shell-variable": _parse_shell_variable,
    "one-line": _parse_one_line,
    "cmake-variable": _parse_cmake_variable,
    "gitlink": _no_text,
}
