"""A provider and its consumer with their remotes, ready to be cut."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from relmgr.cli import root
from relmgr.errors import run_to_exit_code
from tests.support.repositories import TestRepository, new_repository

PROJECT = """\
name = "pair"
zone = "America/Los_Angeles"
owners = ["lead"]

[repositories.lib]
slug = "acme/lib"
default_branch = "develop"
release_branches = '^rel-(?P<train>\\d+\\.\\d+)$'

[repositories.compiler]
slug = "acme/compiler"
default_branch = "develop"
release_branches = '^release/(?P<train>\\d+\\.\\d+)$'

[[pins]]
name = "compiler"
consumer = "lib"
provider = "compiler"

[[pins.sites]]
kind = "cget"
path = "requirements.txt"
"""
CALENDAR = """\
defaults: {base_branch: develop, zone: America/Los_Angeles}
trains:
  - {name: acme-2.0, cut: 2199-01-01}
  - {name: acme-3.0, cut: 2000-01-01}
"""


def cut(*args: str | Path) -> int:
    """Run `relmgr cut` in this process."""
    return run_to_exit_code(lambda **kw: root.main(["cut", *[str(a) for a in args]], **kw))


@dataclass(frozen=True)
class Pair:
    """Both clones, each with a bare remote `origin`, and the stored plan."""

    folder: Path
    compiler: TestRepository
    lib: TestRepository

    @property
    def plan(self) -> Path:
        """The stored plan's file."""
        return self.folder / "plan.json"

    @property
    def options(self) -> list[str | Path]:
        """The options that name project and clones."""
        repos = [f"compiler={self.compiler.path}", f"lib={self.lib.path}"]
        return [*(part for repo in repos for part in ("--repo", repo)), "--project", self.folder / "pair.toml"]

    def store(self, release: str = "2.0", *more: str) -> int:
        """Store the plan of a release."""
        calendar = ("--trains", self.folder / "trains.yaml")
        return cut("plan", release, *self.options, *calendar, "--save", self.plan, "--quiet", *more)

    def apply(self, *more: str) -> int:
        """Run `relmgr cut apply` on the stored plan."""
        return cut("apply", self.plan, *self.options, *more)

    def refs(self) -> dict[str, dict[str, str]]:
        """Every ref of every repository: what must not change when it must not."""
        names = ("compiler", "lib", "compiler.git", "lib.git")
        return {name: refs_of(TestRepository(self.folder / name)) for name in names}

    def made(self) -> set[str]:
        """The release branches that stand, and the marks that were left."""
        return {
            f"{name}:{ref}"
            for name, refs in self.refs().items()
            for ref in refs
            if ref.startswith(("refs/heads/rel", "refs/relmgr"))
        }


def refs_of(repository: TestRepository) -> dict[str, str]:
    """Return every ref with its object."""
    return dict(
        line.split()[::-1] for line in repository.git("for-each-ref", "--format=%(objectname) %(refname)").splitlines()
    )


def build_pair(folder: Path) -> Pair:
    """Build a provider and its consumer, ready to be cut."""
    compiler = new_repository(folder / "compiler")
    pinned = compiler.commit("compiler", {"x": "1\n"})
    lib = new_repository(folder / "lib")
    changelog = "".join(f"## lib-{n}.0 for acme {n}.0.0\n\n" for n in (2, 3))
    lib.commit("pin", {"requirements.txt": f"acme/compiler@{pinned}\n", "CHANGELOG.md": changelog})
    for repository in (compiler, lib):
        bare = repository.path.with_suffix(".git")
        repository.git("init", "-q", "--bare", "-b", "develop", str(bare))
        repository.git("remote", "add", "origin", str(bare))
        repository.git("push", "-q", "origin", "develop")
    (folder / "pair.toml").write_text(PROJECT)
    (folder / "trains.yaml").write_text(CALENDAR)
    return Pair(folder, compiler, lib)


LOCAL = {"compiler:refs/heads/release/2.0", "lib:refs/heads/rel-2.0"}
PUSHED = LOCAL | {"compiler.git:refs/heads/release/2.0", "lib.git:refs/heads/rel-2.0"}
