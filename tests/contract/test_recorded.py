"""Exchanges recorded from GitHub itself, through our retries, cache and parsing.

They lie in PyGithub's source distribution: `pip download --no-deps --no-binary :all: PyGithub==2.10.0 -d build/`.
They are fetched at test time, never kept here.
"""

from __future__ import annotations

import ast
import json
import os
import re
import tarfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from relmgr.sources.github.auth import Credentials
from relmgr.sources.github.cache import ResponseCache
from relmgr.sources.github.client import GitHub, GitHubError, NotFound, RateLimited
from relmgr.sources.github.pulls import login_of
from relmgr.sources.github.rest import check_by_rest, pull_by_rest, status_by_rest
from relmgr.sources.github.waits import Clock
from tests.support.services import missing

ARCHIVE = "pygithub-2.10.0.tar.gz"
# What belongs to one connection, not to the answer.
_OF_THE_WIRE = {"transfer-encoding", "content-encoding", "content-length", "connection", "status", "date", "server"}


@dataclass(frozen=True)
class Exchange:
    """One request and GitHub's answer."""

    file: str
    verb: str
    path: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: str


@pytest.fixture(scope="module")
def exchanges() -> dict[str, list[Exchange]]:
    folder = Path(os.environ.get("RELMGR_PYGITHUB_SDIST") or Path(__file__).parents[2] / "build")
    file = folder / ARCHIVE if folder.is_dir() else folder
    if not file.is_file():
        missing(f"{ARCHIVE} is not there (pip download PyGithub's sdist into build/, or set RELMGR_PYGITHUB_SDIST)")
    return read_all(str(file))


@lru_cache(maxsize=1)
def read_all(archive: str) -> dict[str, list[Exchange]]:
    """Return the exchanges by the name of their recording."""
    found: dict[str, list[Exchange]] = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            if "/ReplayData/" in member.name and member.name.endswith(".txt"):
                stream = tar.extractfile(member)
                assert stream is not None
                name = Path(member.name).stem
                found[name] = list(read_one(name, stream.read().decode("utf-8", "replace")))
    return found


def read_one(name: str, text: str) -> Iterator[Exchange]:
    lines = text.split("\n")
    starts = [n for n, line in enumerate(lines) if line in ("https", "http") and n + 9 < len(lines)]
    for start in starts:
        block = lines[start : start + 10]
        if block[7].isdigit() and block[8].startswith("["):
            headers = tuple((str(key).lower(), str(value)) for key, value in ast.literal_eval(block[8]))
            yield Exchange(name, block[1], block[4], int(block[7]), headers, block[9])


def entries(exchanges: dict[str, list[Exchange]], pattern: str) -> list[tuple[str, Any]]:
    """Return every recorded JSON answer of GETs whose path matches, with the recording's name."""
    return [
        (one.file, json.loads(one.body))
        for some in exchanges.values()
        for one in some
        if one.verb == "GET" and one.status == 200 and re.search(pattern, one.path) and one.body[:1] in "[{"
    ]


@contextmanager
def replayed(some: list[Exchange]) -> Iterator[str]:
    """Serve recorded answers, each path's in order, the last one again and again."""
    queues: dict[str, list[Exchange]] = defaultdict(list)
    for one in some:
        queues[one.path].append(one)

    class Handler(BaseHTTPRequestHandler):
        wbufsize = 1 << 16

        def do_GET(self) -> None:
            queue = queues[self.path.split("?")[0]]
            one = queue.pop(0) if len(queue) > 1 else queue[0]
            body = one.body.encode()
            self.send_response(one.status)
            for name, value in one.headers:
                if name not in _OF_THE_WIRE:
                    host = f"http://127.0.0.1:{server.server_port}"
                    self.send_header(name, value.replace("https://api.github.com", host))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def door(url: str, slept: list[float], cache: Path | None = None) -> GitHub:
    kept = ResponseCache(cache, "x") if cache else None
    return GitHub(Credentials(token="planted-token-0123"), url, cache=kept, clock=Clock(lambda: 0.0, slept.append))


@pytest.mark.parametrize(
    ("pattern", "parse", "at_least"),
    [
        (r"^/repos/[^/]+/[^/]+/pulls/\d+$", lambda entry: pull_by_rest(entry, "a/b"), 10),
        (r"/pulls/\d+/reviews(\?|$)", lambda entry: pull_by_rest(PULL, "a/b", reviews=entry), 1),
        (r"/pulls/\d+/files(\?|$)", lambda entry: pull_by_rest(PULL, "a/b", files=entry), 1),
        (r"/check-runs(\?|$)", lambda entry: [check_by_rest(run) for run in entry["check_runs"]], 3),
        (r"/commits/[0-9a-f]+/status(\?|$)", lambda entry: [status_by_rest(one) for one in entry["statuses"]], 1),
        (r"/issues/\d+/comments(\?|$)", lambda entry: [login_of(one["user"]) for one in entry], 2),
    ],
    ids=["pulls", "reviews", "files", "check-runs", "statuses", "comments"],
)
def test_what_github_answered_is_read(
    exchanges: dict[str, list[Exchange]], pattern: str, parse: Callable[[Any], Any], at_least: int
) -> None:
    found = entries(exchanges, pattern)
    assert len(found) >= at_least
    for _, entry in found:
        parse(entry)


SIDE = {"ref": "main", "sha": "a" * 40}
PULL: dict[str, Any] = {
    "number": 1,
    "title": "x",
    "body": None,
    "state": "open",
    "base": SIDE,
    "head": SIDE,
    "user": None,
    "created_at": "2020-01-01T00:00:00Z",
    "updated_at": "2020-01-01T00:00:00Z",
}


def test_a_read_survives_the_recorded_502s(exchanges: dict[str, list[Exchange]]) -> None:
    slept: list[float] = []
    with replayed(exchanges["Retry.testReturnsRepoAfter3Retries"]) as url:
        assert door(url, slept).canonical("PyGithub/PyGithub") == "PyGithub/PyGithub"
    assert slept == [1.0, 2.0, 4.0]
    slept.clear()
    recorded = exchanges["Retry.testRaisesRetryErrorAfterMaxRetries"]
    with replayed(recorded) as url, pytest.raises(GitHubError, match="does not answer"):
        door(url, slept).canonical("PyGithub/PyGithub")
    assert slept == [1.0, 2.0, 4.0, 8.0]


def test_the_recorded_rate_limit_is_one(exchanges: dict[str, list[Exchange]]) -> None:
    limited = [one for one in exchanges["SpecificExceptions.testRateLimitExceeded"] if one.status == 403]
    slept: list[float] = []
    with replayed(limited) as url, pytest.raises(RateLimited):
        door(url, slept).get("/users/jacquev6")


def test_a_recorded_304_keeps_what_was_read(exchanges: dict[str, list[Exchange]], tmp_path: Path) -> None:
    (first,) = [one for one in exchanges["ConditionalRequestUpdate.setUp"] if one.path == "/repos/akfish/PyGithub"]
    (second,) = exchanges["ConditionalRequestUpdate.testDidNotUpdate"]
    with replayed([first, second]) as url:
        one = door(url, [], tmp_path).get("/repos/akfish/PyGithub")
        assert door(url, [], tmp_path).get("/repos/akfish/PyGithub") == one
    assert one["full_name"] == "akfish/PyGithub"


def test_the_recorded_rename_is_followed(exchanges: dict[str, list[Exchange]]) -> None:
    with replayed(exchanges["Repository.testGetRepositoryWith301Redirect"]) as url:
        assert door(url, []).canonical("protoncoin/protoncoin") == "padima2/protoncoin"


def test_every_recorded_refusal_ends_in_a_named_error(exchanges: dict[str, list[Exchange]]) -> None:
    refusals = [
        one for some in exchanges.values() for one in some if one.verb == "GET" and 400 <= one.status < 500 and one.path
    ]
    assert len(refusals) > 30
    for one in refusals:
        with replayed([one]) as url:
            with pytest.raises(GitHubError) as error:
                door(url, []).get(one.path.split("?")[0])
            assert isinstance(error.value, NotFound) is (one.status in (404, 410))
