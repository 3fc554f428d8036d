"""Two forges for one flow: what developers do there, and what stands there afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from relmgr.sources.github.auth import Credentials
from relmgr.sources.github.client import GitHub
from relmgr.sources.github.waits import Clock
from tests.support.github_standin import StandIn
from tests.support.repositories import TestRepository


class Said(NamedTuple):
    """A comment or an issue: its number for machines, who wrote it, and what."""

    id: int
    author: str
    body: str


class Forge(Protocol):
    """What the flow needs of a forge. `lacks` names what this one does not do as GitHub does."""

    token: str
    lacks: frozenset[str]

    @property
    def url(self) -> str: ...
    def add_repository(self, slug: str, clone: TestRepository) -> None: ...
    def push(self, slug: str, clone: TestRepository, branch: str) -> None: ...
    def open_pull(self, slug: str, branch: str, head: str, title: str, body: str) -> int: ...
    def edit_pull(self, slug: str, number: int, **words: str) -> None: ...
    def merge_pull(self, slug: str, number: int, commit: str) -> None: ...
    def say(self, slug: str, number: int, body: str) -> None: ...
    def comments(self, slug: str, number: int) -> list[Said]: ...
    def issues(self, slug: str) -> list[dict[str, Any]]: ...
    def edit_issue(self, slug: str, number: int, body: str) -> None: ...
    def pulls(self, slug: str) -> list[dict[str, Any]]: ...
    def checks(self, slug: str, commit: str) -> list[tuple[str, str | None]]: ...


@dataclass
class StoodIn:
    """The stateful stand-in of `tests/support`, every answer of which is judged by GitHub's own description."""

    standin: StandIn
    token: str = "planted_relmgr_0123456789"
    lacks: frozenset[str] = frozenset()

    @property
    def url(self) -> str:
        return self.standin.url

    def add_repository(self, slug: str, clone: TestRepository) -> None:
        self.standin.add_repo(slug, "trunk")

    def push(self, slug: str, clone: TestRepository, branch: str) -> None:
        pass

    def open_pull(self, slug: str, branch: str, head: str, title: str, body: str) -> int:
        number = max(self.standin.repos[slug].threads, default=0) + 1
        done = {"status": "COMPLETED", "conclusion": "SUCCESS", "completedAt": "2030-02-03T10:00:00Z"}
        facts = {
            "reviews": [{"author": "mallory", "state": "APPROVED", "at": "2030-02-03T10:00:00Z"}],
            "checks": [{"name": "build"} | done],
        }
        self.standin.add_pull(slug, number, head=branch, head_sha=head, title=title, body=body, **facts)
        return number

    def edit_pull(self, slug: str, number: int, **words: str) -> None:
        self.standin.repos[slug].threads[number] |= words

    def merge_pull(self, slug: str, number: int, commit: str) -> None:
        repo = self.standin.repos[slug]
        repo.threads[number] |= {"state": "merged", "merge_commit": commit, "merged_at": "2020-02-06T10:00:00Z"}
        repo.on_branch.setdefault("trunk", set()).add(commit)

    def say(self, slug: str, number: int, body: str) -> None:
        self.standin.add_comment(slug, number, "mallory", body)

    def comments(self, slug: str, number: int) -> list[Said]:
        found = self.standin.repos[slug].comments.get(number, [])
        return [Said(one["id"], one["author"], one["body"]) for one in found]

    def issues(self, slug: str) -> list[dict[str, Any]]:
        return self.standin.issues(slug)

    def edit_issue(self, slug: str, number: int, body: str) -> None:
        self.standin.repos[slug].threads[number]["body"] = body

    def pulls(self, slug: str) -> list[dict[str, Any]]:
        return [entry for entry in self.standin.repos[slug].threads.values() if entry["kind"] == "pull"]

    def checks(self, slug: str, commit: str) -> list[tuple[str, str | None]]:
        runs = [run for run in self.standin.repos[slug].checks if run["head_sha"] == commit]
        return [(run["status"], run.get("conclusion")) for run in runs]


@dataclass
class Emulated:
    """The npm package `emulate`. Commits get there by their own data, and so under their own ids."""

    url: str
    token: str = "planted_relmgr_0123456789"
    lacks: frozenset[str] = frozenset(
        {
            "GraphQL: pull requests are read one by one through REST, and there is no list of open ones for an order",
            "the app beside a check run: none is known again, so each gate makes another",
            "commit statuses: half of the results are no results, so nothing may merge",
        }
    )

    @property
    def dev(self) -> GitHub:
        return GitHub(Credentials(token="planted_dev_0123456789"), self.url, clock=Clock(sleep=lambda seconds: None))

    def add_repository(self, slug: str, clone: TestRepository) -> None:
        self.push(slug, clone, "trunk")
        self.dev.send("PATCH", f"/repos/{slug}", {"default_branch": "trunk"})

    def push(self, slug: str, clone: TestRepository, branch: str) -> None:
        for commit in clone.git("rev-list", "--reverse", branch).split():
            self._copy(slug, clone, commit)
        tip = clone.git("rev-parse", branch)
        refs = {one["ref"] for one in self.dev.get_all(f"/repos/{slug}/git/matching-refs/heads/{branch}")}
        if f"refs/heads/{branch}" in refs:
            self.dev.send("PATCH", f"/repos/{slug}/git/refs/heads/{branch}", {"sha": tip, "force": True})
        else:
            self.dev.send("POST", f"/repos/{slug}/git/refs", {"ref": f"refs/heads/{branch}", "sha": tip})

    def _copy(self, slug: str, clone: TestRepository, commit: str) -> None:
        def line(form: str) -> str:
            return clone.git("log", "-1", f"--format={form}", commit)

        def person(letter: str) -> dict[str, str]:
            return {"name": line(f"%{letter}n"), "email": line(f"%{letter}e"), "date": line(f"%{letter}I")}

        files = []
        for entry in clone.git("ls-tree", "-r", commit).splitlines():
            mode, _, rest = entry.partition(" ")
            text = clone.git("cat-file", "blob", rest.split()[1]) + "\n"
            files.append({"path": rest.partition("\t")[2], "mode": mode, "type": "blob", "content": text})
        tree = self.dev.send("POST", f"/repos/{slug}/git/trees", {"tree": files})["sha"]
        facts = {"message": line("%B"), "tree": tree, "parents": line("%P").split()}
        people = {"author": person("a"), "committer": person("c")}
        made = self.dev.send("POST", f"/repos/{slug}/git/commits", facts | people)["sha"]
        assert made == commit, "the emulator does not know the commit by its own id"

    def open_pull(self, slug: str, branch: str, head: str, title: str, body: str) -> int:
        words = {"title": title, "body": body, "head": branch, "base": "trunk"}
        made = self.dev.send("POST", f"/repos/{slug}/pulls", words)
        assert made["head"]["sha"] == head
        return int(made["number"])

    def edit_pull(self, slug: str, number: int, **words: str) -> None:
        self.dev.send("PATCH", f"/repos/{slug}/pulls/{number}", words)

    def merge_pull(self, slug: str, number: int, commit: str) -> None:
        self.dev.send("PUT", f"/repos/{slug}/pulls/{number}/merge", {"merge_method": "squash"})

    def say(self, slug: str, number: int, body: str) -> None:
        self.dev.send("POST", f"/repos/{slug}/issues/{number}/comments", {"body": body})

    def comments(self, slug: str, number: int) -> list[Said]:
        found = self.dev.get_all(f"/repos/{slug}/issues/{number}/comments")
        return [Said(one["id"], one["user"]["login"], one["body"]) for one in found]

    def issues(self, slug: str) -> list[dict[str, Any]]:
        found = self.dev.get_all(f"/repos/{slug}/issues", state="all", direction="asc")
        return [dict(one) for one in found if "pull_request" not in one]

    def edit_issue(self, slug: str, number: int, body: str) -> None:
        self.dev.send("PATCH", f"/repos/{slug}/issues/{number}", {"body": body})

    def pulls(self, slug: str) -> list[dict[str, Any]]:
        return list(self.dev.get_all(f"/repos/{slug}/pulls", state="all", direction="asc"))

    def checks(self, slug: str, commit: str) -> list[tuple[str, str | None]]:
        runs = self.dev.get_all(f"/repos/{slug}/commits/{commit}/check-runs", "check_runs")
        return [(run["status"], run["conclusion"]) for run in sorted(runs, key=lambda run: int(run["id"]))]
