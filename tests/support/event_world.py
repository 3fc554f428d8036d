"""A pull request that moves a pin, its forge, and events about it made of GitHub's own published payloads."""

from __future__ import annotations

import copy
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.github_schema import node_modules
from tests.support.github_standin import StandIn
from tests.support.invented import Invented, invent, pointer
from tests.support.services import missing

SLUG = "acme/gadget"
CALENDAR = """
defaults: { base_branch: trunk, zone: Europe/Berlin }
trains:
  - { name: gadget-3.0, cut: 2099-06-01, first_tag: { name: v3.0.0 } }
"""
# Before the tables of the project file, and after them.
OWNERS = 'owners = ["lead"]\ntrains = "trains.yaml"\n'
SMOKE = '\n[commands]\nsmoke_workflow = "smoke.yml"\n'


@dataclass
class World:
    """The pair of repositories, the forge, and where events are written."""

    pair: Invented
    standin: StandIn
    folder: Path
    head: str

    def options(self) -> list[str]:
        """Return what names the project and the clones."""
        clones = [f"gadget={self.pair.gadget.path}", f"forge={self.pair.forge.path}"]
        return ["--project", str(self.pair.file), *(word for clone in clones for word in ("--repo", clone))]

    def event(self, name: str, payload: dict[str, Any]) -> list[str]:
        """Write an event as a workflow finds it, and return the option that names it."""
        file = self.folder / "event.json"
        file.write_text(json.dumps(payload), encoding="utf-8")
        os.environ["GITHUB_EVENT_NAME"] = name
        return ["--event", str(file)]

    def say(self, body: str, author: str = "dev", **facts: Any) -> dict[str, Any]:
        """Let somebody comment on the pull request; return the forge's entry."""
        entry = self.standin.add_comment(SLUG, 7, author, body)
        entry |= {"at": "2031-01-01T10:00:00Z"} | facts
        return entry

    def comment(self, entry: dict[str, Any], action: str = "created", before: str | None = None) -> list[str]:
        """Return the options for the event of a comment."""
        payload = of_repository(example("issue_comment", action), SLUG)
        payload["issue"] |= {"number": 7, "pull_request": {"url": "https://api.github.com/repos/acme/gadget/pulls/7"}}
        by = entry.get("edited_by", entry["author"])
        payload["comment"] |= {
            "id": entry["id"],
            "html_url": f"https://github.com/{SLUG}/pull/7#issuecomment-{entry['id']}",
            "body": entry["body"],
            "user": account(entry["author"]),
            "updated_at": entry["at"],
        }
        payload["sender"] = account(by)
        if action == "edited":
            payload["changes"] = {"body": {"from": before}}
        return self.event("issue_comment", payload)

    def answers(self) -> list[str]:
        """Return the answers that stand in the thread."""
        return [body for body in self.standin.bodies(SLUG, 7) if body.startswith("<!-- relmgr:comment=answer/")]


def build_world(folder: Path, standin: StandIn, settings: str = "") -> World:
    """Build everything; `settings` goes to the end of the project file."""
    pair = invent(folder)
    text = pair.file.read_text(encoding="utf-8")
    (folder / "trains.yaml").write_text(CALENDAR, encoding="utf-8")
    pair.file.write_text(OWNERS + text + settings, encoding="utf-8")
    files: dict[str, str | bytes | None] = {
        "forge.pin": f"{pair.forge_at[42]}\n",
        "kernels/gfx90a68.kdb": pointer("a"),
    }
    pair.gadget.commit("pin it", files, at="2030-02-01T01:00:00+01:00")
    pair.gadget.git("checkout", "-q", "-b", "work")
    head = pair.gadget.commit("Bump", {"forge.pin": f"{pair.forge_at[50]}\n"}, at="2030-02-02T01:00:00+01:00")
    pair.gadget.git("update-ref", "refs/pull/7/head", head)
    pair.gadget.git("checkout", "-q", "trunk")
    for slug in (SLUG, "acme/forge"):
        standin.add_repo(slug, "trunk")
    standin.add_pull(SLUG, 7, head_sha=head, title="Bump forge")
    return World(pair, standin, folder, head)


def example(name: str, action: str) -> dict[str, Any]:
    """Return GitHub's published payload of an event."""
    folder = node_modules() / "@octokit/webhooks-examples"
    if not folder.is_dir():
        missing("npm package @octokit/webhooks-examples is not installed")
    for entry in json.loads((folder / "api.github.com" / "index.json").read_text(encoding="utf-8")):
        for one in entry["examples"]:
            if entry["name"] == name and one.get("action") == action:
                return copy.deepcopy(one)  # type: ignore[no-any-return]
    raise AssertionError(f"GitHub publishes no {name} that is {action}")


def of_repository(payload: dict[str, Any], slug: str) -> dict[str, Any]:
    """Return a payload as one of another repository."""
    payload["repository"]["full_name"] = slug
    return payload


def account(login: str) -> dict[str, Any]:
    """Return an account as payloads have it."""
    return {"login": login, "type": "Bot" if login.endswith("[bot]") else "User"}
