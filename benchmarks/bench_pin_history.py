"""Pin history against its floor and its peers, in one run.

    python benchmarks/bench_pin_history.py CLONE [--runs 7]

Floor: git's own `log --raw --full-history` + `cat-file --batch` + one `rev-list --parents`, each as one bare pipeline.
Peers: the same question (site blobs at every change, and the ancestry of all release tags) answered by walking with
pygit2, and with GitPython limited to the sites' paths.
Every figure is wall time of a fresh process, best of the runs; start-up with relmgr's imports is measured apart
and taken off relmgr's figure.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

SITES = ["requirements.txt", "mlir-requirements.txt", "Dockerfile"]

_IMPORTS = (
    "from pathlib import Path; from relmgr.settings import load_project; from relmgr.sources.git.clone import Clone; "
    "from relmgr.sources.pins import history as pins; from relmgr.sources.provider.abi import AbiReader; import git; "
)
_RELMGR = _IMPORTS + (
    "import sys; p = load_project('miopen-rocmlir', {'miopen': sys.argv[1]}); c = Clone.open(Path(sys.argv[1])); "
    "s = pins.all_refs(c) if sys.argv[2] == 'all' else pins.one_branch(c, 'develop'); "
    "h = pins.pin_history(c, p, p.pin(), s, AbiReader(p, p.pin())); print(len(h.changes))"
)
_PYGIT2 = """
import sys, pygit2
repo = pygit2.Repository(sys.argv[1]); sites = sys.argv[3:]
starts = [repo.references[r].peel(pygit2.Commit).id for r in repo.references
          if r.startswith(('refs/heads/', 'refs/tags/', 'refs/remotes/'))] if sys.argv[2] == 'all' else [
          repo.references['refs/heads/develop'].peel(pygit2.Commit).id]
walker = repo.walk(starts[0], pygit2.enums.SortMode.TOPOLOGICAL)
for start in starts[1:]: walker.push(start)
if sys.argv[2] != 'all': walker.simplify_first_parent()
def entry(tree, path):
    try: return tree[path].id
    except KeyError: return None
found = 0
for commit in walker:
    now = [entry(commit.tree, s) for s in sites]
    befores = [[entry(p.tree, s) for s in sites] for p in commit.parents]
    if all(now != b for b in befores):
        for oid in now:
            if oid is not None: repo[oid].data
        found += 1
tags = [repo.references[r].peel(pygit2.Commit).id for r in repo.references if r.startswith('refs/tags/')]
walker = repo.walk(tags[0], pygit2.enums.SortMode.TOPOLOGICAL)
for tag in tags[1:]: walker.push(tag)
parents = {commit.id: commit.parent_ids for commit in walker}
print(found, len(parents))
"""
_GITPYTHON = """
import sys, git
repo = git.Repo(sys.argv[1]); sites = sys.argv[3:]
options = {'full_history': True, 'all': True} if sys.argv[2] == 'all' else {'first_parent': True}
rev = None if sys.argv[2] == 'all' else 'develop'
found = 0
for commit in repo.iter_commits(rev, paths=sites, **options):
    for s in sites:
        try: commit.tree[s].data_stream.read()
        except KeyError: pass
    found += 1
parents = {commit.binsha: [p.binsha for p in commit.parents] for commit in repo.iter_commits('--tags')}
print(found, len(parents))
"""


def best(runs: int, run: Callable[[], None]) -> float:
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def floor(clone: str, scope: str) -> Callable[[], None]:
    lines = ["--first-parent", "-m", "develop"] if scope == "develop" else ["--full-history", "--branches", "--tags"]
    refs = ["develop", "--tags"] if scope == "develop" else ["--branches", "--tags"]
    log = f"git -C {clone} log --raw --no-abbrev --no-renames {' '.join(lines)} -- {' '.join(SITES)}"
    blobs = "grep '^:' | awk '{print $3; print $4}' | grep -v '^0*$' | sort -u"
    pipeline = f"{log} | {blobs} | git -C {clone} cat-file --batch > /dev/null; " + (
        f"git -C {clone} rev-list --parents {' '.join(refs)} > /dev/null"
    )
    return lambda: subprocess.run(["bash", "-c", pipeline], check=True)  # type: ignore[return-value]


def python(code: str, *args: str) -> Callable[[], None]:
    return lambda: subprocess.run([sys.executable, "-c", code, *args], check=True, capture_output=True)  # type: ignore[return-value]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clone")
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    start_up = best(arguments.runs, python(_IMPORTS))
    print(f"start-up with imports (taken off relmgr's figures): {start_up:.3f} s")
    with tempfile.TemporaryDirectory() as folder:
        # GitPython needs a config file, which a bare mirror may lack.
        mirror = str(Path(folder) / "mirror")
        subprocess.run(["git", "clone", "-q", "--mirror", "--shared", arguments.clone, mirror], check=True)
        for scope in ("all", "develop"):
            bare = best(arguments.runs, floor(arguments.clone, scope))
            ours = best(arguments.runs, python(_RELMGR, arguments.clone, scope)) - start_up
            print(f"{scope:8} floor {bare:.3f} s, relmgr {ours:.3f} s, ratio {ours / bare:.2f}")
            for name, code in (("pygit2", _PYGIT2), ("GitPython", _GITPYTHON)):
                empty = best(arguments.runs, python("import pygit2" if name == "pygit2" else "import git"))
                peer = best(1 if name == "GitPython" else 3, python(code, mirror, scope, *SITES)) - empty
                print(f"{scope:8} {name} {peer:.3f} s, relmgr is {peer / ours:.1f} times as fast")


if __name__ == "__main__":
    main()
