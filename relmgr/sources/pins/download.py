"""The archive that a pin's line names, read from the forge: bounded, hashed on the way, never kept.

Only the configured forge is asked, without credentials, and a redirect is followed only to where that forge serves its
archives.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, cast
from urllib.parse import quote, urljoin, urlsplit

from relmgr.errors import SourceError
from relmgr.sources.network import why_no_answer
from relmgr.sources.pins.archive import Archive, read_archive_stream

if TYPE_CHECKING:
    import requests

MOST_BYTES = 2 * 1024**3
MOST_SECONDS = 900.0
# To connect, and between two parts.
TIMEOUTS = (10.0, 60.0)
MOST_REDIRECTS = 5
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class ForgeArchives:
    """The archives of one forge. `server` is its address, `hosts` are those that it may send a reader to."""

    server: str
    hosts: tuple[str, ...]
    most_bytes: int = MOST_BYTES
    most_seconds: float = MOST_SECONDS

    def url(self, slug: str, ref: str) -> str:
        """Return the address that cget makes of `owner/repo@ref`."""
        return f"{self.server}/{slug}/archive/{quote(ref, safe='/')}.tar.gz"

    def read(self, slug: str, ref: str) -> Archive:
        """Download and read an archive. Raises `SourceError` with the address when it cannot be had whole."""
        import requests
        from urllib3.exceptions import HTTPError

        url = self.url(slug, ref)
        try:
            with requests.Session() as session:
                # Else a password of the user's .netrc would be sent along.
                session.auth = _anonymous
                with self._open(session, url) as answer:
                    stream = _Bounded(answer.raw, self.most_bytes, self.most_seconds)
                    return read_archive_stream(cast(IO[bytes], stream), url)
        except (requests.RequestException, HTTPError, OSError) as error:
            raise SourceError(
                f"could not be downloaded: {why_no_answer(error)}",
                where=url,
                next_step="check the network, or give the archive with --archive FILE",
            ) from None

    def _open(self, session: requests.Session, url: str) -> requests.Response:
        for _ in range(MOST_REDIRECTS):
            self._require_ours(url)
            answer = session.get(
                url, stream=True, allow_redirects=False, timeout=TIMEOUTS, headers={"Accept-Encoding": "identity"}
            )
            if answer.status_code == 200:
                return answer
            answer.close()
            if not answer.is_redirect:
                raise SourceError(f"could not be downloaded: the forge answers {answer.status_code}", where=url)
            url = urljoin(url, answer.headers["location"])
        raise SourceError("could not be downloaded: too many redirects", where=url)

    def _require_ours(self, url: str) -> None:
        parts, own = urlsplit(url), urlsplit(self.server)
        if parts.scheme != own.scheme or parts.netloc.lower() not in self.hosts:
            raise SourceError(f"leads away from {own.netloc}", where=f"{parts.scheme}://{parts.hostname}")


def forge_archives(forge: str = "github.com", environ: Mapping[str, str] | None = None) -> ForgeArchives:
    """Return the archives of `forge`, or of `GITHUB_SERVER_URL`, by https (http only on this machine).

    Raises `SourceError` for another address.
    """
    env = os.environ if environ is None else environ
    server = (env.get("GITHUB_SERVER_URL") or f"https://{forge}").rstrip("/")
    parts = urlsplit(server)
    plain = parts.scheme == "http" and parts.hostname in _LOOPBACK
    if not (parts.scheme == "https" or plain) or not parts.hostname or "@" in parts.netloc or parts.path:
        raise SourceError("not an address of a forge", where="GITHUB_SERVER_URL", next_step="write https://HOST")
    host = parts.netloc.lower()
    return ForgeArchives(server, (host, f"codeload.{host}"))


class _Bounded:
    """A stream of at most so many bytes, within so many seconds."""

    def __init__(self, stream: Any, most_bytes: int, most_seconds: float) -> None:
        self._left, self._until = most_bytes, time.monotonic() + most_seconds
        # What has come, not all that is asked for: a server that sends a byte now and then does not hold the clock.
        self._read = getattr(stream, "read1", stream.read)

    def read(self, size: int) -> bytes:
        data: bytes = self._read(size, decode_content=False)
        self._left -= len(data)
        if self._left < 0:
            raise SourceError("could not be downloaded: larger than relmgr reads")
        if time.monotonic() > self._until:
            raise SourceError("could not be downloaded: it takes too long")
        return data


def _anonymous(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request
