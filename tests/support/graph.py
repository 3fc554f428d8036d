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


def build_graph_repository(path: Path, data: Path = DATA) -> GraphRepository:
    """Rebuild the recorded history at `path` (a work tree on `develop`).

    Parents always come before their children in the recorded order.
    """
    recorded = json.loads(data.read_text(encoding="utf-8"))
    commits, refs = recorded["commits"], recorded["refs"]
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


def _when(text: str) -> str:
    at = datetime.fromisoformat(text)
    offset = re.sub(":", "", at.isoformat()[-6:])
    return f"{int(at.astimezone(timezone.utc).timestamp())} {offset}"


def _counted(data: bytes) -> bytes:
    return f"data {len(data)}\n".encode() + data + b"\n"
