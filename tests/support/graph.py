"""MIOpen's recorded history, rebuilt as a real repository by `git fast-import`.

Original commit ids cannot be reproduced (trees are cut down and parents simplified), so the mapping old id -> new id
comes back with the repository. Subjects, committer dates with their offsets, files, branches and tags are as recorded.
"""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tests.support.repositories import TestRepository

DATA = Path(__file__).parents[1] / "data" / "miopen_graph.json"


@dataclass(frozen=True)
class GraphRepository(TestRepository):
    """The rebuilt repository; `commits` maps each recorded commit id to the rebuilt one."""

    __test__ = False
    commits: dict[str, str]


def build_graph_repository(path: Path, data: Path = DATA, *, before: str | None = None) -> GraphRepository:
    """Rebuild the recorded history at `path` (a work tree on `develop`).

    With `before` (an ISO date) only commits up to the end of that UTC day: branches stand at their last commit of that
    time, and tags made later are not there. Parents always come before their children in the recorded order.
    """
    recorded = json.loads(data.read_text(encoding="utf-8"))
    commits, refs = recorded["commits"], recorded["refs"]
    if before is not None:
        commits, refs = _until(commits, refs, f"{before}T23:59:59+00:00")
    path.mkdir(parents=True)
    subprocess.run(["git", "-C", str(path), "init", "-q", "-b", "develop"], check=True)
    marks = path / ".git" / "relmgr-marks"
    stream = b"".join(_commits(commits)) + b"".join(_refs(commits, refs)) + b"done\n"
    subprocess.run(
        ["git", "-C", str(path), "fast-import", "--quiet", "--done", f"--export-marks={marks}"],
        input=stream,
        check=True,
    )
    made = dict(line.split() for line in marks.read_text().splitlines())
    marks.unlink()
    subprocess.run(["git", "-C", str(path), "reset", "-q", "--hard"], check=True)
    new = {commit["commit"]: made[f":{number}"] for number, commit in enumerate(commits, 1)}
    return GraphRepository(path, new)


def _commits(commits: list[dict[str, Any]]) -> list[bytes]:
    mark = {commit["commit"]: number for number, commit in enumerate(commits, 1)}
    return [_commit(commit, mark) for commit in commits]


def _commit(commit: dict[str, Any], mark: dict[str, int]) -> bytes:
    # No branch of that name is wanted: the refs come at the end, by mark.
    who = f"A Maintainer <maintainer@example.org> {_when(commit['committed_at'])}"
    lines = [
        b"reset refs/relmgr/building\n" if not commit["parents"] else b"",
        f"commit refs/relmgr/building\nmark :{mark[commit['commit']]}\nauthor {who}\ncommitter {who}\n".encode(),
        _counted(commit["subject"].encode()),
    ]
    for kind, parent in zip(["from", *["merge"] * len(commit["parents"])], commit["parents"], strict=False):
        lines.append(f"{kind} :{mark[parent]}\n".encode())
    lines += [f"D {name}\n".encode() for name in commit["removed"]]
    for name, text in commit["files"].items():
        lines += [f"M 100644 inline {name}\n".encode(), _counted(text.encode())]
    return b"".join([*lines, b"\n"])


def _refs(commits: list[dict[str, Any]], refs: list[dict[str, Any]]) -> list[bytes]:
    mark = {commit["commit"]: number for number, commit in enumerate(commits, 1)}
    made = [b"reset refs/relmgr/building\nfrom 0000000000000000000000000000000000000000\n\n"]
    for ref in refs:
        if ref["annotated"]:
            name = ref["ref"].removeprefix("refs/tags/")
            tagger = f"A Maintainer <maintainer@example.org> {_when(ref['tagged_at'])}"
            made.append(f"tag {name}\nfrom :{mark[ref['commit']]}\ntagger {tagger}\n".encode() + _counted(b"release\n"))
        else:
            made.append(f"reset {ref['ref']}\nfrom :{mark[ref['commit']]}\n\n".encode())
    return made


def _until(
    commits: list[dict[str, Any]], refs: list[dict[str, Any]], end: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the commits made until `end`, and the refs as they stood then (a branch: its newest first parent)."""
    limit = datetime.fromisoformat(end)
    by_id = {commit["commit"]: commit for commit in commits}
    kept: set[str] = set()
    for commit in commits:
        if datetime.fromisoformat(commit["committed_at"]) <= limit and all(p in kept for p in commit["parents"]):
            kept.add(commit["commit"])
    standing = []
    for ref in refs:
        is_tag = ref["ref"].startswith("refs/tags/")
        made = ref["tagged_at"] or ref["committed_at"]
        at: str | None = ref["commit"]
        while not is_tag and at is not None and at not in kept:
            at = next(iter(by_id[at]["parents"]), None)
        cut = ref["cut_at"]
        born = datetime.fromisoformat(made if is_tag else cut) if is_tag or cut else None
        if at is not None and at in kept and (born is None or born <= limit):
            standing.append(ref | {"commit": at})
    return [commit for commit in commits if commit["commit"] in kept], standing


def _when(text: str) -> str:
    at = datetime.fromisoformat(text)
    offset = re.sub(":", "", at.isoformat()[-6:])
    return f"{int(at.astimezone(timezone.utc).timestamp())} {offset}"


def _counted(data: bytes) -> bytes:
    return f"data {len(data)}\n".encode() + data + b"\n"
