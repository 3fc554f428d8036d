"""The whole flow as people run it: `relmgr` in a process of its own, real clones, a forge.

Once against our own stateful stand-in, once against `emulate`, which nobody here wrote; what that one lacks is left out
by name (`Emulated.lacks`).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.contract.forges import Emulated, Forge, StoodIn
from tests.support.github_standin import StandIn
from tests.support.invented import Invented, invent, pointer

CONSUMER, PROVIDER = "acme/gadget", "acme/forge"
TRAINS = """\
defaults: {base_branch: trunk, zone: Europe/Berlin}
trains:
  - {name: gadget-1.0, cut: 2199-01-01}
"""


@pytest.fixture(params=["stand-in", "emulate"])
def forge(request: pytest.FixtureRequest) -> Iterator[Forge]:
    if request.param == "emulate":
        yield Emulated(request.getfixturevalue("emulate"))
        return
    with StandIn().running() as standin:
        yield StoodIn(standin)
        assert standin.mistakes == []


@dataclass
class Scene:
    """The pair of clones, the forge that both are on, and `relmgr` beside them."""

    pair: Invented
    forge: Forge
    folder: Path

    def lacks(self, what: str) -> bool:
        """Tell whether the forge lacks something, known by how its gap begins."""
        return any(gap.startswith(what) for gap in self.forge.lacks)

    def relmgr(self, *args: str, code: int = 0) -> list[tuple[str, str]]:
        """Run relmgr in a process of its own; return what its record says that it did: (kind, outcome) each."""
        repos = [f"gadget={self.pair.gadget.path}", f"forge={self.pair.forge.path}"]
        options = ["--project", str(self.pair.file), *(part for repo in repos for part in ("--repo", repo))]
        env = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        record = self.folder / "actions.jsonl"
        env |= {"GITHUB_API_URL": self.forge.url, "GITHUB_TOKEN": self.forge.token, "RELMGR_ACTION_LOG": str(record)}
        record.unlink(missing_ok=True)
        run = subprocess.run(
            [sys.executable, "-m", "relmgr", *args, *options],
            env=env,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (run.returncode, run.stderr) == (code, ""), run.stdout + run.stderr
        done = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
        return [(one["kind"], one["outcome"]) for one in done]

    def gate(self, number: int, code: int = 1) -> tuple[str, str]:
        """Gate the consumer's pull request and post; return what became of comment and check."""
        done = dict(self.relmgr("gate", "check", f"{CONSUMER}#{number}", "--post", code=code))
        return done["comment"], done["check"]

    def ours(self, number: int) -> tuple[int, str]:
        """Return the one comment of relmgr's."""
        said = [one for one in self.forge.comments(CONSUMER, number) if one.author.startswith("relmgr")]
        (mine,) = [one for one in said if one.body.startswith("<!-- relmgr:comment=gate -->")]
        return mine.id, mine.body


@pytest.fixture
def scene(tmp_path: Path, forge: Forge) -> Scene:
    pair = invent(tmp_path)
    # The provider's trunk is at 42; its pull request makes that faster, another branch brings 50.
    pair.forge.git("branch", "abi-50", str(pair.forge_at[50]))
    pair.forge.git("reset", "-q", "--hard", str(pair.forge_at[42]))
    pin: dict[str, str | bytes | None] = {
        "forge.pin": f"{pair.forge_at[42]}\n",
        "kernels/gfx90a68.kdb": pointer("a"),
        "a.txt": "a\n",
    }
    pair.gadget.commit("pin it", pin, at="2030-02-01T01:00:00+01:00")
    pair.gadget.git("init", "-q", "--bare", str(tmp_path / "origin.git"))
    pair.gadget.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    pair.gadget.git("push", "-q", "origin", "trunk")
    (tmp_path / "trains.yaml").write_text(TRAINS, encoding="utf-8")
    pair.file.write_text('trains = "trains.yaml"\n' + pair.file.read_text(encoding="utf-8"), encoding="utf-8")
    for slug, clone in ((CONSUMER, pair.gadget), (PROVIDER, pair.forge)):
        forge.add_repository(slug, clone)
    return Scene(pair, forge, tmp_path)


def test_the_whole_flow_through_the_command_line(scene: Scene) -> None:
    pair, forge = scene.pair, scene.forge
    # Open pull requests in two repositories; the consumer's waits for the provider's.
    pair.forge.git("checkout", "-q", "-b", "faster")
    head = pair.forge.commit("Faster", {"x.txt": "x\n"}, at="2020-02-01T10:00:00+00:00")
    pair.forge.git("checkout", "-q", "trunk")
    forge.push(PROVIDER, pair.forge, "faster")
    companion = forge.open_pull(PROVIDER, "faster", head, "Faster", "The same, faster.")
    pair.gadget.git("checkout", "-q", "-b", "uses-it")
    work = pair.gadget.commit("Use it", {"a.txt": "b\n"}, at="2030-02-02T01:00:00+01:00")
    pair.gadget.git("checkout", "-q", "trunk")
    forge.push(CONSUMER, pair.gadget, "uses-it")
    body = f"Depends-On: {PROVIDER}#{companion}"
    number = forge.open_pull(CONSUMER, "uses-it", work, "Use it", body)
    pair.gadget.git("update-ref", f"refs/pull/{number}/head", work)
    pair.forge.git("update-ref", f"refs/pull/{companion}/head", head)
    forge.say(CONSUMER, number, "<!-- relmgr:comment=gate -->\nfaked")

    # Gate: the comment and the check appear, once.
    assert scene.gate(number) == ("created", "created")
    first, said = scene.ours(number)
    assert "companion-merges-first" in spoken_of(said)
    again = "created" if scene.lacks("the app beside a check run") else "unchanged"
    assert scene.gate(number) == ("unchanged", again)
    stopped = ("completed", "failure") if scene.lacks("commit statuses") else ("in_progress", None)
    assert forge.checks(CONSUMER, work)[-1] == stopped

    # The text is edited, judged again: the same comment says so.
    forge.edit_pull(CONSUMER, number, title="[WIP] Use it", body=body + "\n\nMore.")
    assert scene.gate(number)[0] == "updated"
    same, said = scene.ours(number)
    assert same == first
    assert "on-hold" in spoken_of(said)
    forge.edit_pull(CONSUMER, number, title="Use it")
    if not scene.lacks("GraphQL"):
        assert scene.relmgr("order", "plan", "--post") == [("comment", "created")] * 2
        assert scene.relmgr("order", "plan", "--post") == [("comment", "unchanged")] * 2

    # The companion is merged by squash: the same comment no longer waits for it.
    pair.forge.git("merge", "-q", "--squash", "faster")
    squashed = pair.forge.commit(f"Faster (#{companion})", at="2020-02-06T10:00:00+00:00")
    forge.merge_pull(PROVIDER, companion, squashed)
    assert scene.gate(number, code=1 if scene.lacks("commit statuses") else 0)[0] == "updated"
    same, said = scene.ours(number)
    assert same == first
    stops = {"approvals-and-checks"} if scene.lacks("commit statuses") else set()
    assert spoken_of(said) - {"changelog-entry-present"} == stops
    assert forge.checks(CONSUMER, work)[-1] == ("completed", "failure" if stops else "success")
    assert [one.body for one in forge.comments(CONSUMER, number) if not one.author.startswith("relmgr")] == [
        "<!-- relmgr:comment=gate -->\nfaked"
    ]

    bump_is_opened_once(scene, squashed)
    ticket_is_filed_once(scene)
    checklist_is_posted_once_and_kept(scene)


def spoken_of(comment: str) -> set[str]:
    """Return the policies that a comment gives a line of their own; those that passed stand folded in one."""
    return set(re.findall(r"^- \*\*([a-z-]+)\*\*", comment, re.MULTILINE))


def bump_is_opened_once(scene: Scene, to: str) -> None:
    """The pin follows by a pull request of its own, which is then merged."""
    given = ("pin", "bump", "--to", "trunk", "--apply", "--pull-request")
    branch = f"relmgr/bump-forge-{to[:12]}"
    assert scene.relmgr(*given) == [("pull-request", "created")]
    pushed = scene.pair.gadget.git("ls-remote", "origin", branch)
    (bump,) = [pull for pull in scene.forge.pulls(CONSUMER) if "Bump forge" in pull["title"]]
    assert bump["title"] == f"Bump forge to {to[:12]}"
    assert f"/compare/{scene.pair.forge_at[42]}...{to}" in bump["body"]
    assert scene.relmgr(*given) == [("pull-request", "unchanged")]
    assert pushed == scene.pair.gadget.git("ls-remote", "origin", branch) != ""
    scene.pair.gadget.git("merge", "-q", "--ff-only", branch)
    assert scene.pair.gadget.git("show", "trunk:forge.pin") == to


def ticket_is_filed_once(scene: Scene) -> None:
    """Somebody moves the pin across the ABI by hand: the databases must be built again."""
    pair = scene.pair
    pair.gadget.commit("Bump by hand", {"forge.pin": f"{pair.forge_at[50]}\n"}, at="2030-02-07T10:00:00+00:00")
    given = ("kdb", "ticket", "--train", "gadget-1.0", "--post")
    assert scene.relmgr(*given) == [("issue", "created")]
    (ticket,) = scene.forge.issues(CONSUMER)
    assert "gfx90a in gadget-1.0" in ticket["title"]
    assert scene.relmgr(*given) == [("issue", "unchanged")]
    assert len(scene.forge.issues(CONSUMER)) == 1


def checklist_is_posted_once_and_kept(scene: Scene) -> None:
    given = ("cut", "checklist", "gadget-1.0", "--post")
    assert scene.relmgr(*given) == [("issue", "created")]
    (listed,) = [issue for issue in scene.forge.issues(CONSUMER) if issue["title"] == "Cut of gadget-1.0"]
    by_hand = next(line for line in listed["body"].split("\n") if "state=by-hand" in line)
    ticked = listed["body"].replace(by_hand, by_hand.replace("- [ ]", "- [x]") + "\n  Asked, and done.")
    scene.forge.edit_issue(CONSUMER, listed["number"], ticked)
    assert scene.relmgr(*given) == [("issue", "unchanged")]
    (kept,) = [issue for issue in scene.forge.issues(CONSUMER) if issue["number"] == listed["number"]]
    assert kept["body"] == ticked
