"""Read single files of a forge at a commit through GitHub's contents API: read only, cached on disk by commit.

https://docs.github.com/en/rest/repos/contents#get-repository-content
"""

from __future__ import annotations

import os
import re
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

from relmgr.errors import SourceError, redact
from relmgr.sources.header_lines import MAX_HEADER

_HEX40 = re.compile(r"^[0-9a-f]{40}$")
_ABSENT = b"absent\n"
_PRESENT = b"present\n"
TIMEOUT_SECONDS = 20


class ContentsApi:
    """Files of public repositories, or of those that the token in `GITHUB_TOKEN` may read."""

    name = "GitHub"

    def __init__(self, cache: Path | None = None, api: str = "https://api.github.com") -> None:
        self._api = api
        self._client: Any = None
        self._cache = cache or cache_folder() / "contents"

    def read(self, slug: str, commit: str, path: str) -> bytes | None:
        """Return a file's bytes, None when that commit has no such file.

        Only full commits are asked for, because only they can be kept. Raises `SourceError` when GitHub cannot be
        reached, does not know the commit, or the file is larger than a header may be.
        """
        if not _HEX40.match(commit):
            raise SourceError(f"{commit!r} is no full commit", next_step="give 40 hex digits")
        kept = self._cache / sha256("\0".join((self._api, slug, commit, path)).encode()).hexdigest()
        if (data := _load(kept)) is not None:
            return data[len(_PRESENT) :] if data.startswith(_PRESENT) else None
        found = self._ask(slug, commit, path)
        _keep(kept, _ABSENT if found is None else _PRESENT + found)
        return found

    def resolve(self, slug: str, ref: str) -> str | None:
        """Return the commit of a branch or tag now (never kept: refs move), None when there is none."""
        from github import GithubException, UnknownObjectException
        from requests.exceptions import RequestException

        try:
            return str(self._github().get_repo(slug).get_commit(ref).sha)
        except UnknownObjectException:
            return None
        except (GithubException, RequestException, OSError) as error:
            # GitHub answers 422 for a name that is no ref.
            if isinstance(error, GithubException) and error.status == 422:
                return None
            raise SourceError(f"{slug} cannot be read ({redact(str(error))[:200]})", where=self._api) from None

    def _ask(self, slug: str, commit: str, path: str) -> bytes | None:
        from github import GithubException, UnknownObjectException
        from requests.exceptions import RequestException

        try:
            repository = self._github().get_repo(slug)
            # A commit that GitHub lacks and a file that the commit lacks are both 404: ask for the commit by itself.
            repository.get_git_commit(commit)
            try:
                found = repository.get_contents(path, ref=commit)
            except UnknownObjectException:
                return None
        except UnknownObjectException:
            raise SourceError(f"{slug} has no commit {commit[:12]} that can be read", where=self._api) from None
        except (GithubException, RequestException, OSError) as error:
            raise SourceError(f"{slug} cannot be read ({redact(str(error))[:200]})", where=self._api) from None
        if isinstance(found, list) or found.type != "file":
            return None
        if found.size > MAX_HEADER or found.encoding != "base64":
            raise SourceError(f"{path} has {found.size} bytes, more than is read", where=self._api)
        return bytes(found.decoded_content)

    def _github(self) -> Any:
        if self._client is None:
            from github import Auth, Github
            from github.GithubRetry import GithubRetry

            token = os.environ.get("GITHUB_TOKEN")
            self._client = Github(
                auth=Auth.Token(token) if token else None,
                base_url=self._api,
                timeout=TIMEOUT_SECONDS,
                retry=GithubRetry(total=2, backoff_factor=0.1, allowed_methods={"GET", "HEAD"}),
            )
        return self._client


def cache_folder() -> Path:
    """Return relmgr's cache folder by the XDG rules."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "relmgr"


def _load(file: Path) -> bytes | None:
    try:
        data = file.read_bytes() if file.stat().st_size <= MAX_HEADER + len(_PRESENT) else b""
    except OSError:
        return None
    return data if data == _ABSENT or data.startswith(_PRESENT) else None


def _keep(file: Path, data: bytes) -> None:
    """Write a cache file whole or not at all; a cache that cannot be written is none."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent)
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        Path(name).replace(file)
    except OSError:
        return
