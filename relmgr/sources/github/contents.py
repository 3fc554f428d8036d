"""Read single files of a forge at a commit through GitHub's contents API: read only, cached on disk by commit.

https://docs.github.com/en/rest/repos/contents#get-repository-content
"""

from __future__ import annotations

import base64
import binascii
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from relmgr.errors import SourceError
from relmgr.sources.git.clone import HEX40
from relmgr.sources.github.auth import read_credentials
from relmgr.sources.github.cache import cache_folder, write_whole
from relmgr.sources.github.client import PUBLIC_API, GitHub, GitHubError, NotFound
from relmgr.sources.headers.lines import MAX_HEADER

_ABSENT = b"absent\n"
_PRESENT = b"present\n"
# Headers are a side source: the ledger answers when GitHub does not.
PATIENCE_SECONDS = 1.5


class ContentsApi:
    """Files of public repositories, or of those that the token in `GITHUB_TOKEN` may read."""

    name = "GitHub"

    def __init__(self, cache: Path | None = None, api: str = PUBLIC_API) -> None:
        self._api = api
        self._github: GitHub | None = None
        self._cache = cache or cache_folder() / "contents"

    def read(self, slug: str, commit: str, path: str) -> bytes | None:
        """Return a file's bytes, None when that commit has no such file.

        Only full commits are asked for, because only they can be kept. Raises `SourceError` when GitHub cannot be
        reached, does not know the commit, or the file is larger than a header may be.
        """
        if not HEX40.match(commit):
            raise SourceError(f"{commit!r} is no full commit", next_step="give 40 hex digits")
        kept = self._cache / sha256("\0".join((self._api, slug, commit, path)).encode()).hexdigest()
        if (data := _load(kept)) is not None:
            return data[len(_PRESENT) :] if data.startswith(_PRESENT) else None
        try:
            found = self._ask(slug, commit, path)
        except GitHubError as error:
            raise SourceError(f"{slug} cannot be read ({error.what[:200]})", where=self._api) from None
        write_whole(kept, _ABSENT if found is None else _PRESENT + found)
        return found

    def resolve(self, slug: str, ref: str) -> str | None:
        """Return the commit of a branch or tag now (never kept: refs move), None when there is none."""
        try:
            return str(self._door().get(f"/repos/{slug}/commits/{quote(ref, safe='')}")["sha"])
        except NotFound:
            return None
        except GitHubError as error:
            # GitHub answers 422 for a name that is no ref.
            if error.status == 422:
                return None
            raise SourceError(f"{slug} cannot be read ({error.what[:200]})", where=self._api) from None

    def _ask(self, slug: str, commit: str, path: str) -> bytes | None:
        door = self._door()
        try:
            slug = door.canonical(slug)
            # A commit that GitHub lacks and a file that the commit lacks are both 404: ask for the commit by itself.
            door.get(f"/repos/{slug}/git/commits/{commit}")
        except NotFound:
            raise SourceError(f"{slug} has no commit {commit[:12]} that can be read", where=self._api) from None
        try:
            found = door.get(f"/repos/{slug}/contents/{quote(path)}", ref=commit)
        except NotFound:
            return None
        if not isinstance(found, dict) or found.get("type") != "file":
            return None
        if found["size"] > MAX_HEADER or found["encoding"] != "base64":
            raise SourceError(f"{path} has {found['size']} bytes, more than is read", where=self._api)
        try:
            return base64.b64decode(found["content"])
        except binascii.Error:
            raise SourceError(f"{path} is not in base64", where=self._api) from None

    def _door(self) -> GitHub:
        if self._github is None:
            self._github = GitHub(read_credentials(), self._api, patience=PATIENCE_SECONDS)
        return self._github


def _load(file: Path) -> bytes | None:
    try:
        data = file.read_bytes() if file.stat().st_size <= MAX_HEADER + len(_PRESENT) else b""
    except OSError:
        return None
    return data if data == _ABSENT or data.startswith(_PRESENT) else None
