"""What a ref means at the provider: in a local clone, or, without one, by `git ls-remote`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from relmgr.errors import SourceError, redact
from relmgr.model.project import Repository
from relmgr.sources.git.clone import HEX40, Clone, NamedRef
from relmgr.sources.git.remote_secrets import environment_for, plain_arguments

LS_REMOTE_SECONDS = 60
_ENV = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_ALLOW_PROTOCOL": "https:ssh:file:git"}
MAX_REMOTE_REFS = 200_000
_PULL = re.compile(r"^refs/(?:remotes/[^/]+/)?(?:pull|pr)/(\d{1,9})(?:/head|/merge)?$", re.ASCII)


@dataclass(frozen=True)
class Reachability:
    """From which refs of the repository a commit can be reached; `complete` False: only tips were seen.

    `pulls` are numbers: of GitHub's own refs, and of those that people fetch as remote branches.
    """

    branches: tuple[str, ...]
    tags: tuple[str, ...]
    pulls: tuple[int, ...]
    complete: bool


class ProviderRefs:
    """Refs of one repository. `where` says what answers: a clone's path, a remote's URL, or nothing at all."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.clone = Clone.open(repository.path) if repository.path else None
        self.where = str(repository.path or redact(repository.remote or "") or "no clone and no remote at hand")

    @cached_property
    def _remote(self) -> dict[str, str]:
        """Ref name to object id at the remote; peeled tags end in `^{}`."""
        from git import Git
        from git.exc import GitCommandError

        assert self.repository.remote is not None
        if self.repository.remote.startswith("-"):
            raise SourceError("a remote's URL cannot start with '-'", where=self.where)
        try:
            out = Git().execute(
                ["git", "ls-remote", "--end-of-options", *plain_arguments([self.repository.remote])],
                env=_ENV | environment_for([self.repository.remote]),
                kill_after_timeout=LS_REMOTE_SECONDS,
            )
        except GitCommandError as error:
            said = redact(str(error.stderr)).strip().strip("'").splitlines()
            raise SourceError(
                f"git ls-remote failed: {said[-1] if said else 'no message'}",
                where=self.where,
                next_step="check the URL and the network, or give a clone with --repo",
            ) from None
        refs: dict[str, str] = {}
        for line in str(out).splitlines()[:MAX_REMOTE_REFS]:
            oid, _, name = line.partition("\t")
            refs[name] = oid
        return refs

    def name_ref(self, text: str) -> NamedRef | None:
        """Return every reading of `text` there; None when nothing can be asked. Raises `SourceError` on failure."""
        if self.clone is not None:
            return self.clone.name_ref(text)
        if self.repository.remote is None:
            return None
        if HEX40.match(text):
            tag = next(
                (name for name, oid in self._remote.items() if oid == text and f"{name}^{{}}" in self._remote), None
            )
            if tag:
                return NamedRef(text, "sha", self._remote[f"{tag}^{{}}"], tag_object=text, readings=(text,))
            return NamedRef(text, "sha", text if text in self._remote.values() else None, readings=(text,))
        names = [text] if text.startswith("refs/") else [f"refs/heads/{text}", f"refs/tags/{text}"]
        found = [name for name in names if name in self._remote]
        kind: Literal["tag", "branch"] | None = None
        if found:
            kind = "tag" if found[0].startswith("refs/tags/") else "branch"
        commit = self._remote.get(f"{found[0]}^{{}}", self._remote[found[0]]) if len(found) == 1 else None
        return NamedRef(text, kind, commit, readings=tuple(found))

    def reachability(self, commit: str) -> Reachability:
        """Return from which refs `commit` can be reached; at a remote only the tips can be seen."""
        if self.clone is not None:
            names = self.clone.run(
                "for-each-ref", f"--contains={commit}", "--format=%(refname)", check=False
            ).splitlines()
            complete = True
        else:
            names = [name.removesuffix("^{}") for name, oid in self._remote.items() if oid == commit]
            complete = False
        heads = [name for name in names if name.startswith(("refs/heads/", "refs/remotes/"))]
        return Reachability(
            branches=tuple(name for name in heads if not _PULL.match(name)),
            tags=tuple(dict.fromkeys(name for name in names if name.startswith("refs/tags/"))),
            pulls=tuple(dict.fromkeys(int(found[1]) for name in names if (found := _PULL.match(name)))),
            complete=complete,
        )

    def same_tree_on_branch(self, commit: str, branch: str) -> str | None:
        """Return the commit of `branch` whose tree equals that of `commit`: a squash of it (P12); needs a clone."""
        if self.clone is None or branch not in self.clone.branches:
            return None
        tree = self.clone.run("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}", check=False)
        if not tree:
            return None
        listed = self.clone.run("log", "--first-parent", "--format=%H %T", self.clone.branches[branch].commit)
        return next((line[:40] for line in listed.splitlines() if line[41:] == tree), None)
