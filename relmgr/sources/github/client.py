"""The one door to GitHub: every request of relmgr's passes here, through PyGithub, and is counted.

PyGithub's own retries are switched off: they send a POST again after a 5xx, which makes two comments of one. Here a
read is repeated, and a write whose fate is not known ends in `Uncertain`; its caller looks before it writes again.
PyGithub also drops the query of a redirected address, so lists are asked of a repository's present name (`canonical`).
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from relmgr.errors import SourceError, redact
from relmgr.sources.github.auth import Credentials, credentials_for
from relmgr.sources.github.cache import Kept, ResponseCache, cache_folder
from relmgr.sources.github.waits import Clock, Pace, is_secondary, rate_limit_wait, trouble_wait
from relmgr.sources.network import host_of, is_lasting, why_no_answer

if TYPE_CHECKING:
    from github.Requester import Requester

PUBLIC_API = "https://api.github.com"
TIMEOUT_SECONDS = 30
MOST_ATTEMPTS = 5
# All waiting for one request; a limit that lasts longer is told instead of waited for.
PATIENCE_SECONDS = 1200.0
PER_PAGE = 100
MOST_PAGES = 1000
_NEXT = re.compile(r'<([^<>]+)>\s*;[^,]*\brel="next"')
_SLUG = re.compile(r"^[\w.-]+/[\w.-]+$")


class GitHubError(SourceError):
    """GitHub refused or failed. `status` is HTTP's, 0 when there was no answer; `data` is what it said."""

    def __init__(self, what: str, *, status: int = 0, data: Any = None, where: str = "", next_step: str = "") -> None:
        super().__init__(what, where=where, next_step=next_step)
        self.status, self.data = status, data


class NotFound(GitHubError):
    """There is no such thing, or this account may not see it: GitHub does not tell which."""


class RateLimited(GitHubError):
    """A limit that lasts longer than relmgr waits. Nothing was done by the refused request."""


class Uncertain(GitHubError):
    """A write got no answer that tells whether it was done."""


@dataclass(frozen=True)
class Answer:
    """What GitHub said: status, headers (lower-case names), JSON."""

    status: int
    headers: Mapping[str, str]
    data: Any

    @property
    def message(self) -> str:
        """The sentence of a refusal."""
        said = self.data.get("message") if isinstance(self.data, dict) else None
        errors = self.data.get("errors") if isinstance(self.data, dict) else None
        more = "; ".join(_said(error) for error in errors[:3]) if isinstance(errors, list) else ""
        return ": ".join(part for part in (said if isinstance(said, str) else "", more) if part)

    @property
    def next_page(self) -> str | None:
        """The address of the next page."""
        found = _NEXT.search(self.headers.get("link", ""))
        return found[1] if found else None


class GitHub:
    """GitHub as one account sees it. `calls` lists every request sent, (method, address)."""

    def __init__(
        self,
        credentials: Credentials | None = None,
        api: str = PUBLIC_API,
        *,
        cache: ResponseCache | None = None,
        clock: Clock | None = None,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self.api = api.rstrip("/")
        self.calls: list[tuple[str, str]] = []
        self._credentials = credentials or Credentials()
        self._cache = cache
        self._clock = clock or Clock()
        self._pace = Pace(self._clock)
        self._patience = patience
        self._client: Requester | None = None
        self._names: dict[str, str] = {}
        self._login: str | None = None
        self._unreached: GitHubError | None = None

    # -- reading ----------------------------------------------------------------------------------------------------

    def get(self, path: str, **parameters: str | int) -> Any:
        """Return the JSON at `path`; raises `NotFound` and the other `GitHubError`s."""
        return self._page(_with_query(path, parameters)).data

    def get_all(self, path: str, key: str | None = None, **parameters: str | int) -> Iterator[Any]:
        """Yield the entries of a list over all of its pages; `key` names the list inside each page."""
        address: str | None = _with_query(path, {"per_page": PER_PAGE} | parameters)
        for _ in range(MOST_PAGES):
            if address is None:
                return
            page = self._page(address)
            entries = page.data[key] if key else page.data
            if not isinstance(entries, list):
                raise GitHubError("no list where one was expected", where=self._where("GET", path))
            yield from entries
            address = page.next_page
        raise GitHubError(f"more than {MOST_PAGES} pages", where=self._where("GET", path))

    def query(self, text: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer of a GraphQL query, `{data, errors}`: parts that could not be read are in `errors`."""
        url = self._requester().graphql_url
        answer = self._answer("POST", url, body={"query": text, "variables": dict(variables)}, repeatable=True)
        if not isinstance(answer.data, dict) or not isinstance(answer.data.get("data"), dict):
            raise GitHubError(self._clean(answer.message) or "no data in the answer", where=self._where("POST", url))
        return answer.data

    def canonical(self, slug: str) -> str:
        """Return the present name of a repository that may have been renamed or transferred."""
        if not _SLUG.match(slug):
            raise GitHubError(f"{slug!r} is no owner/name", next_step="correct it")
        if slug.lower() not in self._names:
            self.learn_name(slug, str(self.get(f"/repos/{slug}")["full_name"]))
        return self._names[slug.lower()]

    def learn_name(self, slug: str, present: str) -> None:
        """Remember the present name of a repository, as an answer told it."""
        self._names[slug.lower()] = self._names[present.lower()] = present

    def login(self) -> str:
        """Return the account's own login, as it stands beside what it writes (an App's ends in `[bot]`)."""
        if self._login is None:
            try:
                self._login = str(self.query("query{viewer{login}}", {})["data"]["viewer"]["login"])
            except NotFound:
                self._login = str(self.get("/user")["login"])
        return self._login

    # -- writing ----------------------------------------------------------------------------------------------------

    def send(self, verb: str, path: str, body: Mapping[str, Any] | None = None, *, repeatable: bool = False) -> Any:
        """Write, at GitHub's pace, and return its JSON.

        Never sent twice unless `repeatable` (a write that sets what it names): raises `Uncertain` when nobody can tell
        whether it was done, `RateLimited` when it was refused for longer than relmgr waits.
        """
        self._pace.wait()
        return self._answer(verb, path, body=body, repeatable=repeatable).data

    def pause(self, attempt: int) -> None:
        """Wait before looking again for what an uncertain write may have made."""
        self._clock.sleep(trouble_wait(attempt))

    # -- one request --------------------------------------------------------------------------------------------------

    def _page(self, address: str) -> Answer:
        """Return one address's answer, from the cache where GitHub says that it did not change."""
        kept = self._cache.load(address) if self._cache else None
        headers = {"If-None-Match": kept.etag} if kept else {}
        answer = self._answer("GET", address, headers=headers, repeatable=True)
        if answer.status == 304 and kept:
            link = f'<{kept.next_page}>; rel="next"' if kept.next_page else ""
            return Answer(200, {"link": link}, kept.data)
        etag = answer.headers.get("etag")
        if self._cache and etag and answer.status == 200:
            self._cache.store(address, Kept(etag, answer.next_page, answer.data))
        return answer

    def _answer(
        self,
        verb: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool,
    ) -> Answer:
        """Send until there is an answer, within the patience; what may not be sent twice is not."""
        if self._unreached is not None:
            raise self._unreached
        waited, attempt = 0.0, 0
        while True:
            attempt += 1
            answer = self._once(verb, path, body, headers or {})
            if answer.status in (307, 308) and attempt < MOST_ATTEMPTS:
                path = answer.headers.get("location", "")
                continue
            answer = _refused_in_graphql(answer)
            if 0 < answer.status < 400:
                return answer
            limit = rate_limit_wait(answer.status, answer.headers, answer.message, attempt, self._clock.now())
            if limit is None and 0 < answer.status < 500:
                raise self._refusal(verb, path, answer)
            if limit is None and not repeatable:
                raise Uncertain(
                    f"no answer that tells whether it was done ({self._reason(answer)})",
                    status=answer.status,
                    where=self._where(verb, path),
                )
            delay = trouble_wait(attempt) if limit is None else limit
            if attempt >= MOST_ATTEMPTS or waited + delay > self._patience:
                raise self._given_up(verb, path, answer, limit)
            waited += delay
            self._clock.sleep(delay)

    def _once(self, verb: str, path: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]) -> Answer:
        """Send one request; no answer at all is status 0, with the reason as its message."""
        from github import GithubException
        from requests.exceptions import RequestException

        self.calls.append((verb, path))
        try:
            status, said, text = self._requester().requestJson(verb, path, None, dict(headers), body)
        except GithubException as error:
            # Only making an installation's token raises; the request itself was not sent.
            return Answer(error.status if error.status >= 400 else 502, dict(error.headers or {}), error.data)
        except (RequestException, OSError, RuntimeError, ValueError) as error:
            return Answer(0, {}, {"message": why_no_answer(error)})
        return Answer(status, said, _parse(text))

    def _requester(self) -> Requester:
        if self._client is None:
            from github import Github

            # At its debug level PyGithub writes whole answers, and an installation's token is one.
            logging.getLogger("github.Requester").setLevel(logging.INFO)
            self._client = Github(
                auth=self._credentials.to_auth(),
                base_url=self.api,
                timeout=TIMEOUT_SECONDS,
                retry=0,
                user_agent="relmgr",
                seconds_between_requests=None,
                seconds_between_writes=None,
            ).requester
        return self._client

    # -- what is said about it ----------------------------------------------------------------------------------------

    def _refusal(self, verb: str, path: str, answer: Answer) -> GitHubError:
        kind = NotFound if answer.status in (404, 410) else GitHubError
        steps = {
            401: "check GITHUB_TOKEN, or the App's id, installation and key",
            403: "this account lacks the permission: see the README's list",
            404: "check the name, and that this account may see it",
        }
        return kind(
            f"GitHub refused: {self._reason(answer)}",
            status=answer.status,
            data=answer.data,
            where=self._where(verb, path),
            next_step=steps.get(answer.status, ""),
        )

    def _given_up(self, verb: str, path: str, answer: Answer, limit: float | None) -> GitHubError:
        where = self._where(verb, path)
        if limit is not None:
            what = f"rate limited ({self._reason(answer)}); it asks to wait {limit:.0f} s"
            return RateLimited(what, status=answer.status, where=where, next_step="run again later")
        if not answer.status:
            return self._unreachable(path if "://" in path else self.api, answer)
        return GitHubError(
            f"GitHub does not answer ({self._reason(answer)})",
            status=answer.status,
            where=where,
            next_step="try again; https://www.githubstatus.com tells of outages",
        )

    def _unreachable(self, url: str, answer: Answer) -> GitHubError:
        why = self._reason(answer)
        error = GitHubError(
            f"could not be reached: {why}",
            where=host_of(url),
            next_step="check the network; which host is asked says `forge` in the project, or GITHUB_API_URL",
        )
        if is_lasting(why):
            self._unreached = error
        return error

    def _reason(self, answer: Answer) -> str:
        said = self._clean(answer.message)
        return f"{answer.status} {said}".strip() if answer.status else said or "no answer"

    def _where(self, verb: str, path: str) -> str:
        return self._clean(f"{verb} {path}" if "://" in path else f"{verb} {self.api}{path}")

    def _clean(self, text: str) -> str:
        for secret in self._credentials.secrets:
            text = text.replace(secret, "***")
        return " ".join(redact(text).split())[:400]


def open_github(
    forge: str = "github.com", environ: Mapping[str, str] | None = None, *, starts_workflows: bool = False
) -> GitHub:
    """Return the door to `forge` for the account that the environment names, with a cache on disk.

    Only with `starts_workflows` is an App's token asked for that may: an App need not have that permission.
    """
    env = os.environ if environ is None else environ
    credentials = replace(credentials_for(forge, env), starts_workflows=starts_workflows)
    api = env.get("GITHUB_API_URL") or api_of(forge)
    cache = ResponseCache(cache_folder() / "github", f"{api} {credentials.identity}")
    cache.prune(Clock().now())
    return GitHub(credentials, api, cache=cache)


def api_of(forge: str) -> str:
    """Return the address of a forge's API: GitHub's own, one with data residency, or an Enterprise Server's."""
    if forge == "github.com" or forge.endswith(".ghe.com"):
        return f"https://api.{forge}"
    return f"https://{forge}/api/v3"


def _parse(text: str) -> Any:
    if not text:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {"message": "an answer that is not JSON"}


def _refused_in_graphql(answer: Answer) -> Answer:
    """Return a rate limit that GraphQL tells in a 200 as the 403 that REST makes of it.

    https://docs.github.com/en/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api
    """
    errors = answer.data.get("errors") if answer.status == 200 and isinstance(answer.data, dict) else None
    if not isinstance(errors, list) or answer.data.get("data"):
        return answer
    kinds = {error.get("type") for error in errors if isinstance(error, dict)}
    limited = "RATE_LIMITED" in kinds or is_secondary(answer.message)
    return Answer(403, answer.headers, answer.data) if limited else answer


def _said(error: Any) -> str:
    if not isinstance(error, dict):
        return str(error)
    return str(error.get("message") or " ".join(str(error[k]) for k in ("resource", "field", "code") if k in error))


def _with_query(path: str, parameters: Mapping[str, str | int]) -> str:
    return f"{path}?{urlencode(parameters)}" if parameters else path
