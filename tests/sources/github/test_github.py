"""The door to GitHub: what is repeated and what never is, limits, pages, the cache, renames, secrets."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from relmgr.errors import UserError
from relmgr.sources.github.auth import Credentials, credentials_for, read_credentials
from relmgr.sources.github.cache import ResponseCache
from relmgr.sources.github.client import GitHub, GitHubError, NotFound, RateLimited, Uncertain, open_github
from relmgr.sources.github.pulls import read_open_pulls
from relmgr.sources.github.waits import Clock, Pace
from tests.support.github_schema import missing_openapi
from tests.support.github_standin import Kind, StandIn, Trouble
from tests.support.services import missing

TOKEN = "planted-0123456789-secret"
COMMENTS = "/repos/acme/gadget/issues/7/comments"


@dataclass
class FakeClock:
    """A clock that only sleeping moves."""

    seconds: float = 1_000_000.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.seconds, self.sleep)


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with StandIn().running() as running:
        running.add_repo("acme/gadget")
        running.add_pull("acme/gadget", 7)
        yield running
        assert running.mistakes == []


def door(standin: StandIn, clock: FakeClock | None = None, cache: Path | None = None, token: str = TOKEN) -> GitHub:
    kept = ResponseCache(cache, token) if cache else None
    return GitHub(Credentials(token=token), standin.url, cache=kept, clock=(clock or FakeClock()).clock)


def test_responses_are_judged_by_githubs_own_description() -> None:
    reason = missing_openapi()
    if reason:
        missing(reason)


# -- what is repeated, and what never is ------------------------------------------------------------------------------


def test_a_read_is_repeated_after_a_5xx(standin: StandIn) -> None:
    standin.troubles.append(Trouble("502", "GET", "comments", times=2))
    clock = FakeClock()
    assert list(door(standin, clock).get_all(COMMENTS)) == []
    assert (len(standin.calls), clock.slept) == (3, [1.0, 2.0])


def test_a_read_that_never_succeeds_ends_in_a_named_failure(standin: StandIn) -> None:
    standin.troubles.append(Trouble("502", "GET", "comments", times=99))
    with pytest.raises(GitHubError, match="does not answer") as error:
        list(door(standin).get_all(COMMENTS))
    assert len(standin.calls) == 5
    assert f"GET {standin.url}{COMMENTS}" in str(error.value)


@pytest.mark.parametrize("kind", ["502", "502-done", "dropped-done"])
def test_a_post_is_never_sent_twice(standin: StandIn, kind: str) -> None:
    standin.troubles.append(Trouble(kind, "POST", "comments", times=99))  # type: ignore[arg-type]
    with pytest.raises(Uncertain):
        door(standin).send("POST", COMMENTS, {"body": "words"})
    assert standin.writes() == [("POST", COMMENTS)]
    assert standin.bodies("acme/gadget", 7) == ([] if kind == "502" else ["words"])


def test_a_query_is_a_read_although_it_is_a_post(standin: StandIn) -> None:
    standin.troubles.append(Trouble("502", "POST", "graphql"))
    assert door(standin).login() == "relmgr[bot]"
    assert len(standin.calls) == 2


def test_nobody_at_the_port_is_a_source_failure() -> None:
    github = GitHub(Credentials(token=TOKEN), "http://127.0.0.1:9", clock=FakeClock().clock)
    with pytest.raises(
        GitHubError, match=r"^127\.0\.0\.1:9: could not be reached: the connection was refused\n"
    ) as error:
        github.get("/user")
    assert TOKEN not in str(error.value)


def test_what_is_missing_and_what_is_refused_are_told_apart(standin: StandIn) -> None:
    with pytest.raises(NotFound, match="404 Not Found"):
        door(standin).get("/repos/acme/nothing")
    standin.troubles.append(Trouble("refused", "POST", "issues"))
    with pytest.raises(GitHubError, match="422 Validation Failed: Issue invalid"):
        door(standin).send("POST", "/repos/acme/gadget/issues", {"title": "x"})


def test_an_answer_that_is_no_json_is_a_failure_not_a_crash(standin: StandIn) -> None:
    standin.troubles.append(Trouble("garbage", "POST", "graphql"))
    with pytest.raises(GitHubError, match="not JSON"):
        door(standin).query("query{viewer{login}}", {})


# -- limits -----------------------------------------------------------------------------------------------------------


def test_b4_a_secondary_limit_without_a_time_waits_a_minute_and_then_longer(standin: StandIn) -> None:
    standin.troubles.append(Trouble("secondary", "POST", "comments", times=3))
    clock = FakeClock()
    door(standin, clock).send("POST", COMMENTS, {"body": "words"})
    assert clock.slept == [60.0, 120.0, 240.0]
    assert standin.bodies("acme/gadget", 7) == ["words"]


def test_b4_the_wait_is_capped_and_then_told(standin: StandIn) -> None:
    standin.troubles.append(Trouble("secondary", "POST", "comments", times=99))
    clock = FakeClock()
    with pytest.raises(RateLimited, match="secondary rate limit"):
        door(standin, clock).send("POST", COMMENTS, {"body": "words"})
    assert clock.slept == [60.0, 120.0, 240.0, 480.0]
    assert standin.bodies("acme/gadget", 7) == []


def test_the_hours_limit_is_waited_for_until_it_ends(standin: StandIn) -> None:
    standin.troubles.append(Trouble("primary", "GET", "comments"))
    clock = FakeClock(seconds=1893456000.0 - 100)
    list(door(standin, clock).get_all(COMMENTS))
    assert clock.slept == [101.0]


def test_the_hours_limit_that_ends_too_late_is_told(standin: StandIn) -> None:
    standin.troubles.append(Trouble("primary", "GET", "comments"))
    clock = FakeClock(seconds=1893456000.0 - 3000)
    with pytest.raises(RateLimited, match="3001 s"):
        list(door(standin, clock).get_all(COMMENTS))
    assert clock.slept == []


def test_b4_content_writes_are_paced_80_a_minute_and_500_an_hour() -> None:
    clock = FakeClock()
    start = clock.seconds
    pace, times = Pace(clock.clock), []
    for _ in range(520):
        pace.wait()
        times.append(clock.seconds - start)
    for end in times:
        assert sum(end - 60 < at <= end for at in times) <= 80
        assert sum(end - 3600 < at <= end for at in times) <= 500
    assert times[79] == 0.0
    assert times[80] == 60.0
    assert times[500] == 3600.0


def test_b4_retry_after_is_waited_for(standin: StandIn) -> None:
    standin.troubles.append(Trouble("retry-after", "POST", "comments"))
    clock = FakeClock()
    door(standin, clock).send("POST", COMMENTS, {"body": "words"})
    assert (clock.slept, standin.bodies("acme/gadget", 7)) == ([8.0], ["words"])


@pytest.mark.parametrize(("kind", "slept"), [("graphql-primary", [101.0]), ("graphql-secondary", [60.0])])
def test_a_limit_that_graphql_tells_in_a_200_is_waited_for(standin: StandIn, kind: Kind, slept: list[float]) -> None:
    standin.troubles.append(Trouble(kind, "POST", "graphql"))
    clock = FakeClock(seconds=1893456000.0 - 100)
    assert door(standin, clock).login() == "relmgr[bot]"
    assert clock.slept == slept


# -- pages, cache, names ----------------------------------------------------------------------------------------------


def test_m11_every_page_is_read(standin: StandIn) -> None:
    for number in range(250):
        standin.add_comment("acme/gadget", 7, "dev", f"comment {number}")
    found = [entry["body"] for entry in door(standin).get_all(COMMENTS)]
    assert found == [f"comment {number}" for number in range(250)]
    assert len(standin.calls) == 3


def test_m11_more_than_a_hundred_pages_are_read(standin: StandIn) -> None:
    for number in range(1_005):
        standin.add_comment("acme/gadget", 7, "dev", f"{number}")
    found = [entry["body"] for entry in door(standin).get_all(COMMENTS, per_page=10)]
    assert found == [f"{number}" for number in range(1_005)]
    assert len(standin.calls) == 101


def test_an_unchanged_answer_is_taken_from_the_cache_and_a_changed_one_is_not(standin: StandIn, tmp_path: Path) -> None:
    for number in range(150):
        standin.add_comment("acme/gadget", 7, "dev", f"comment {number}")
    first = list(door(standin, cache=tmp_path).get_all(COMMENTS))
    second = list(door(standin, cache=tmp_path).get_all(COMMENTS))
    assert second == first
    standin.bodies("acme/gadget", 7)
    standin.repos["acme/gadget"].comments[7][120]["body"] = "edited"
    assert list(door(standin, cache=tmp_path).get_all(COMMENTS))[120]["body"] == "edited"


def test_one_account_does_not_see_what_the_cache_keeps_of_another(standin: StandIn, tmp_path: Path) -> None:
    list(door(standin, cache=tmp_path).get_all(COMMENTS))
    assert ResponseCache(tmp_path, "another").load(f"{COMMENTS}?per_page=100") is None
    assert ResponseCache(tmp_path, TOKEN).load(f"{COMMENTS}?per_page=100") is not None


def test_a_torn_cache_file_is_no_answer(standin: StandIn, tmp_path: Path) -> None:
    list(door(standin, cache=tmp_path).get_all(COMMENTS))
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes()[:-9])
    assert list(door(standin, cache=tmp_path).get_all(COMMENTS)) == []


def test_what_nobody_asks_for_leaves_the_cache(standin: StandIn, tmp_path: Path) -> None:
    list(door(standin, cache=tmp_path).get_all(COMMENTS))
    door(standin, cache=tmp_path).get("/user")
    cache, (first, *_) = ResponseCache(tmp_path, TOKEN), sorted(tmp_path.iterdir())
    os.utime(first, (1_000_000, 1_000_000))
    cache.prune(1_000_000 + 29 * 86_400)
    assert first in list(tmp_path.iterdir())
    cache.prune(1_000_000 + 31 * 86_400)
    assert first not in list(tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) == 1


def test_a_renamed_repository_is_followed_with_all_its_pages(standin: StandIn) -> None:
    standin.renamed["oldacme/gadget"] = "acme/gadget"
    for number in range(130):
        standin.add_comment("acme/gadget", 7, "dev", f"comment {number}")
    github = door(standin)
    slug = github.canonical("oldacme/gadget")
    assert slug == "acme/gadget"
    assert len(list(github.get_all(f"/repos/{slug}/issues/7/comments"))) == 130


def test_a_write_to_a_former_name_arrives_once(standin: StandIn) -> None:
    standin.renamed["oldacme/gadget"] = "acme/gadget"
    door(standin).send("POST", "/repos/oldacme/gadget/issues/7/comments", {"body": "words"})
    assert standin.bodies("acme/gadget", 7) == ["words"]


def test_b7_a_redirect_to_another_host_gets_no_token(standin: StandIn) -> None:
    with StandIn().running() as stranger:
        stranger.add_repo("acme/gadget")
        stranger.add_pull("acme/gadget", 7)
        elsewhere = stranger.url.replace("127.0.0.1", "localhost")
        standin.renamed["oldacme/gadget"] = f"{elsewhere}/repos/acme/gadget"
        with pytest.raises(GitHubError):
            door(standin).get("/repos/oldacme/gadget")
        with pytest.raises(GitHubError):
            door(standin).send("POST", "/repos/oldacme/gadget/issues/404/comments", {"body": "words"})
        assert (stranger.calls, stranger.authorizations) == ([], set())


# -- who, and secrets (B7) --------------------------------------------------------------------------------------------


def test_the_token_is_sent_and_nothing_else_tells_it(standin: StandIn, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    github = door(standin)
    standin.troubles.append(Trouble("forbidden", "POST", "comments"))
    with pytest.raises(GitHubError) as error:
        github.send("POST", COMMENTS, {"body": "words"})
    assert standin.authorizations == {f"token {TOKEN}"}
    told = str(error.value) + repr(error.value) + repr(github._credentials) + caplog.text
    assert TOKEN not in told


def test_b7_an_installations_token_is_in_no_log(standin: StandIn, caplog: pytest.LogCaptureFixture) -> None:
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
    caplog.set_level(logging.DEBUG)
    credentials = Credentials(app_id="12", installation=34, private_key=pem)
    github = GitHub(credentials, standin.url, clock=FakeClock().clock)
    assert github.get("/user")["login"] == "relmgr[bot]"
    assert "token ghs_planted0123456789" in standin.authorizations
    assert standin.asked_permissions == {
        "metadata": "read",
        "contents": "read",
        "checks": "write",
        "issues": "write",
        "pull_requests": "write",
        "statuses": "write",
    }
    assert "ghs_planted" not in caplog.text
    assert pem not in caplog.text + repr(credentials)
    # What starts workflows asks for that too; nothing else does.
    starting = replace(credentials, starts_workflows=True)
    GitHub(starting, standin.url, clock=FakeClock().clock).get("/user")
    assert standin.asked_permissions["actions"] == "write"


def test_credentials_come_from_the_environment(tmp_path: Path) -> None:
    assert read_credentials({}).identity == "nobody"
    assert read_credentials({"GITHUB_TOKEN": " abc \n"}).token == "abc"
    assert read_credentials({"GH_TOKEN": "abc"}).token == "abc"
    key = tmp_path / "key.pem"
    key.write_text("-----BEGIN")
    env = {"RELMGR_APP_ID": "1", "RELMGR_APP_INSTALLATION": "2", "RELMGR_APP_KEY_FILE": str(key), "GITHUB_TOKEN": "abc"}
    found = read_credentials(env)
    assert (found.app_id, found.installation, found.private_key, found.token) == ("1", 2, "-----BEGIN", None)
    with pytest.raises(UserError, match="RELMGR_APP_KEY_FILE cannot be read: No such file"):
        read_credentials(env | {"RELMGR_APP_KEY_FILE": str(tmp_path / "none")})
    with pytest.raises(UserError, match="not a number"):
        read_credentials({"RELMGR_APP_ID": "1"})


def test_b7_a_file_does_not_say_which_host_gets_a_token() -> None:
    """The project's file names the forge, and anybody may write it: a token goes where its owner said."""
    token = {"GITHUB_TOKEN": "abc"}
    for forge in ("github.com", "octo.ghe.com"):
        assert credentials_for(forge, token).token == "abc"
    assert (
        credentials_for("git.example.org", token | {"GITHUB_API_URL": "https://git.example.org/api/v3"}).token == "abc"
    )
    own = {"GH_ENTERPRISE_TOKEN": "own", "GH_HOST": "git.example.org"}
    assert credentials_for("git.example.org", token | own).token == "own"
    assert credentials_for("git.example.org", {}).identity == "nobody"
    for env in (token, {"RELMGR_APP_ID": "1"}, own | {"GH_HOST": "other.example.org"}, {"GH_ENTERPRISE_TOKEN": "own"}):
        with pytest.raises(UserError, match=r"only the project's file says that git\.example\.org is the forge"):
            credentials_for("git.example.org", env)
    with pytest.raises(UserError, match="sent no credentials"):
        open_github("evil-github.com", token)


def test_an_enterprise_forge_is_asked_under_its_own_addresses() -> None:
    with StandIn(prefix="/api/v3").running() as standin:
        standin.add_repo("acme/gadget")
        for number in range(130):
            standin.add_pull("acme/gadget", number + 1)
        github = door(standin)
        assert github.api.endswith("/api/v3")
        assert github.login() == "relmgr[bot]"
        assert len(read_open_pulls(github, ["acme/gadget"]).found) == 130
        assert len(list(github.get_all("/repos/acme/gadget/pulls"))) == 130
        github.send("POST", COMMENTS, {"body": "words"})
        assert standin.bodies("acme/gadget", 7) == ["words"]
        assert standin.mistakes == []


def test_an_enterprise_forge_has_its_own_address() -> None:
    assert open_github("octo.ghe.com", {}).api == "https://api.octo.ghe.com"
    assert open_github("git.example.org", {}).api == "https://git.example.org/api/v3"
    assert open_github("github.com", {}).api == "https://api.github.com"
    assert open_github("github.com", {"GITHUB_API_URL": "https://x.example/api/v3"}).api == "https://x.example/api/v3"
