"""The one door to git: local clones read as they are, never written, never fetched into.

GitPython runs every ordinary command. The history walk (`stream`) and the object reader are hot paths and talk
to git's own plumbing through pipes.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import IO, Literal

from relmgr.errors import SourceError, redact
from relmgr.sources.git.objects import MAX_BLOB, Blob, ObjectReader

# Replacement refs would let a repository tell another history; its hooks and monitors are not ours to run.
_FLAGS = ("--no-replace-objects", "--no-optional-locks")
_CONFIG = ("core.quotePath=false", "core.fsmonitor=false", "log.showSignature=false", "i18n.logOutputEncoding=UTF-8")
HEX40 = re.compile(r"^[0-9a-f]{40}$")


class MissingObject(SourceError):
    """The clone names an object that it does not hold (partial clone, mirror without large files)."""


@dataclass(frozen=True)
class TreeEntry:
    """One file, link or gitlink (`mode` 160000) of a tree; `path` from the repository's top."""

    mode: str
    oid: str
    path: str


@dataclass(frozen=True)
class Ref:
    """A ref with its peeled commit; `date` is the tagger's or committer's, with its offset."""

    name: str
    commit: str
    is_annotated: bool
    date: datetime


@dataclass(frozen=True)
class CommitInfo:
    """One commit; `committed_at` keeps the committer's offset."""

    sha: str
    parents: tuple[str, ...]
    committed_at: datetime
    subject: str
    body: str


@dataclass(frozen=True)
class NamedRef:
    """What a ref text means in a repository: every reading of it, and the peeled commit when there is one reading."""

    text: str
    kind: Literal["sha", "tag", "branch"] | None
    commit: str | None
    tag_object: str | None = None
    readings: tuple[str, ...] = ()

    @property
    def is_ambiguous(self) -> bool:
        """Tell whether a branch and a tag share the name."""
        return len(self.readings) > 1


class Clone:
    """A repository on this machine: work tree, bare mirror (even without a config file), shallow or partial clone."""

    def __init__(
        self, path: Path, *, shallow: bool, partial: bool, lazy_fetch: bool = False, objects: Path | None = None
    ) -> None:
        self.path, self.shallow, self.partial, self._lazy_fetch = path, shallow, partial, lazy_fetch
        self._objects = objects

    @classmethod
    def open(cls, path: Path, *, lazy_fetch: bool = False) -> Clone:
        """Open the repository whose top folder (or bare git folder) is `path`.

        With `lazy_fetch` a partial clone may fetch single objects from its remote; otherwise they are missing.
        Raises `SourceError` for a folder that is no repository, or that only lies inside one.
        """
        if not path.is_dir():
            raise SourceError("no such folder", where=str(path), next_step="give a clone, bare mirror or work tree")
        probe = cls(path.resolve(), shallow=False, partial=False, lazy_fetch=lazy_fetch)
        try:
            answer = probe.run("rev-parse", "--is-shallow-repository", "--absolute-git-dir", "--show-prefix").split(
                "\n"
            )
        except SourceError as error:
            raise SourceError(
                f"not a git repository git can read ({error.what})",
                where=str(path),
                next_step="name a clone",
            ) from None
        git_dir, inside = Path(answer[1]), answer[2] if len(answer) > 2 else ""
        if inside or (not (path / ".git").exists() and git_dir != path.resolve()):
            raise SourceError(
                "a folder inside a repository, not its top folder",
                where=str(path),
                next_step=f"give {git_dir.parent if git_dir.name == '.git' else git_dir}; `root` names a folder inside",
            )
        config = probe.run("config", "--get-regexp", r"^(remote\..*\.promisor|extensions\.partialclone)$", check=False)
        return cls(path.resolve(), shallow=answer[0] == "true", partial=bool(config), lazy_fetch=lazy_fetch)

    def beside(self, objects: Path) -> Clone:
        """Return the same clone with the objects of a folder in sight: a commit that is planned and not made."""
        return Clone(
            self.path, shallow=self.shallow, partial=self.partial, lazy_fetch=self._lazy_fetch, objects=objects
        )

    # -- running git ------------------------------------------------------------------------------------------------

    def run(self, *args: str, check: bool = True) -> str:
        """Return what a read-only git command prints, without its last newline.

        Raises `SourceError` when it fails and `check` is set; otherwise a failing command returns ''.
        """
        from git import Git
        from git.exc import GitCommandError, GitCommandNotFound

        try:
            status, out, err = Git(str(self.path)).execute(
                self._command(args),
                with_extended_output=True,
                with_exceptions=False,
                env=self._env(),
                stdout_as_string=False,
            )
        except GitCommandNotFound:
            raise SourceError("git is not installed", next_step="install git 2.31 or newer") from None
        except (GitCommandError, OSError) as error:
            raise SourceError(f"git {args[0]}: {redact(str(error))}", where=str(self.path)) from None
        if status and check:
            said = err.strip().splitlines()
            raise SourceError(f"git {args[0]} failed: {said[-1] if said else f'status {status}'}", where=str(self.path))
        return _text(out) if not status else ""

    @contextmanager
    def stream(self, *args: str, globs: bool = False) -> Iterator[IO[bytes]]:
        """Yield the standard output of a running git command; raise `SourceError` if it fails at its end.

        Paths are taken literally, or, with `globs`, as patterns in which `*` stays within a folder.
        """
        process = subprocess.Popen(
            self._command(args, globs), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | self._env()
        )
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            yield process.stdout
            said = process.stderr.read()
            if process.wait():
                raise SourceError(f"git {args[0]} failed: {_last_line(said)}", where=str(self.path))
        finally:
            process.stdout.close()
            process.stderr.close()
            if process.poll() is None:
                process.kill()
            process.wait()

    def _command(self, args: Sequence[str], globs: bool = False) -> list[str]:
        config = [part for item in _CONFIG for part in ("-c", item)]
        return [
            "git",
            "-C",
            str(self.path),
            *_FLAGS,
            "--glob-pathspecs" if globs else "--literal-pathspecs",
            *config,
            *args,
        ]

    def _env(self) -> dict[str, str]:
        env = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat"}
        if not self._lazy_fetch:
            env |= {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
        if self._objects is not None:
            given = os.environ.get("GIT_ALTERNATE_OBJECT_DIRECTORIES")
            env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = f"{self._objects}:{given}" if given else str(self._objects)
        return env

    # -- refs and commits -------------------------------------------------------------------------------------------

    def refs(self, *prefixes: str) -> list[Ref]:
        """Return the refs under `prefixes` (such as refs/tags) that end at a commit, by name."""
        fields = (
            "%(refname)%00%(objecttype)%00%(objectname)%00%(*objecttype)%00%(*objectname)%00%(creatordate:iso-strict)"
        )
        found = []
        for line in self.run("for-each-ref", f"--format={fields}", *prefixes).splitlines():
            name, kind, oid, peeled_kind, peeled, date = line.split("\0")
            if "commit" in (kind, peeled_kind) and date:
                found.append(
                    Ref(name, peeled or oid, kind == "tag", datetime.fromisoformat(date.replace("Z", "+00:00")))
                )
        return found

    @cached_property
    def branches(self) -> dict[str, Ref]:
        """Branch name to ref: local branches first, else those of the remote `origin`."""
        found = {ref.name.removeprefix("refs/remotes/origin/"): ref for ref in self.refs("refs/remotes/origin")}
        found.pop("HEAD", None)
        found |= {ref.name.removeprefix("refs/heads/"): ref for ref in self.refs("refs/heads")}
        return dict(sorted(found.items()))

    @cached_property
    def tags(self) -> dict[str, Ref]:
        """Tag name to ref (annotated tags peeled)."""
        return {ref.name.removeprefix("refs/tags/"): ref for ref in self.refs("refs/tags")}

    def name_ref(self, text: str) -> NamedRef:
        """Tell what `text` means here: sha, tag or branch; every reading is listed (P8)."""
        if HEX40.match(text):
            kind = self.run("cat-file", "-t", text, check=False)
            if kind == "tag":
                peeled = self.run("rev-parse", "--verify", "--quiet", f"{text}^{{commit}}", check=False) or None
                return NamedRef(text, "sha", peeled, tag_object=text, readings=(text,))
            return NamedRef(text, "sha", text if kind == "commit" else None, readings=(text,) if kind else ())
        if text.startswith("refs/"):
            kinds: dict[str, Literal["tag", "branch"]] = {
                "refs/tags/": "tag",
                "refs/heads/": "branch",
                "refs/remotes/": "branch",
            }
            kind_of = next((kinds[prefix] for prefix in kinds if text.startswith(prefix)), None)
            commit = self.run("rev-parse", "--verify", "--quiet", f"{text}^{{commit}}", check=False) or None
            return NamedRef(text, kind_of, commit, readings=(text,) if commit else ())
        branch, tag = self.branches.get(text), self.tags.get(text)
        readings = tuple(ref.name for ref in (branch, tag) if ref)
        if branch:
            return NamedRef(text, "branch", branch.commit if not tag else None, readings=readings)
        if tag:
            return NamedRef(text, "tag", tag.commit, readings=readings)
        return NamedRef(text, None, None)

    def resolve(self, ref: str) -> str | None:
        """Return the 40-hex commit of a branch, tag (peeled), sha or revision such as `HEAD~1`; None when unknown."""
        named = self.name_ref(ref) if not ref.startswith("-") else NamedRef(ref, None, None)
        if named.commit or named.is_ambiguous or ref.startswith("-") or not ref.strip():
            return named.commit
        return (
            self.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", check=False) or None
        )

    def require(self, ref: str) -> str:
        """Return the commit of `ref`, or raise `SourceError` naming what is at hand."""
        commit = self.resolve(ref)
        if commit is None:
            if self.name_ref(ref).is_ambiguous:
                names = " and ".join(self.name_ref(ref).readings)
                raise SourceError(f"{ref!r} is both {names}", where=str(self.path), next_step="give the full ref name")
            if not self.branches and not self.tags:
                raise SourceError("the repository has no commit", where=str(self.path), next_step="fetch it first")
            raise SourceError(f"no ref {ref!r}", where=str(self.path), next_step=self._like(ref))
        return commit

    def _like(self, ref: str) -> str:
        """Return what one may have meant by `ref`."""
        from difflib import get_close_matches

        names = dict.fromkeys((*self.tags, *self.branches))
        if near := get_close_matches(ref[:100], list(names)[:5000], n=3, cutoff=0.75):
            return f"did you mean {' or '.join(near)}? Else fetch it first"
        return f"fetch it first; known branches: {', '.join(list(self.branches)[:5]) or 'none'}"

    def commit(self, ref: str) -> CommitInfo:
        """Return one commit."""
        text = self.run("log", "-1", "--format=%H%x00%P%x00%cI%x00%s%x00%b", self.require(ref))
        sha, parents, at, subject, body = text.split("\0", 4)
        return CommitInfo(sha, tuple(parents.split()), datetime.fromisoformat(at.replace("Z", "+00:00")), subject, body)

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Tell whether `ancestor` is reachable from `descendant` (a commit is its own ancestor)."""
        return self.run("merge-base", ancestor, descendant, check=False) == self.require(ancestor)

    def merge_base(self, one: str, other: str) -> str | None:
        """Return the best common ancestor, or None for unrelated histories."""
        return self.run("merge-base", self.require(one), self.require(other), check=False) or None

    # -- trees and files --------------------------------------------------------------------------------------------

    def list_tree(self, ref: str, folder: str = "") -> list[TreeEntry]:
        """Return every file below `folder` at `ref`, by path."""
        args = ["ls-tree", "-r", "-z", "--full-tree", self.require(ref)]
        found = []
        for record in self.run(*args, *([f"{folder.rstrip('/')}/"] if folder else [])).split("\0"):
            if record.strip("\n"):
                meta, _, path = record.partition("\t")
                mode, _, oid = meta.split(" ")
                found.append(TreeEntry(mode, oid, path))
        return found

    def read(self, ref: str, path: str, limit: int = MAX_BLOB) -> bytes | None:
        """Return a file's bytes at `ref`, None when there is none; raise `MissingObject` when the clone lacks it."""
        (blob,) = self.read_many([(self.require(ref), path)], limit)
        if blob.state == "missing":
            raise MissingObject(
                f"{path} at {ref[:12]} is not in this clone",
                where=str(self.path),
                next_step="fetch it (`git fetch` in a full clone), or give another clone",
            )
        if blob.state == "too-large":
            raise SourceError(f"{path} at {ref[:12]} is larger than {limit} bytes", where=str(self.path))
        return blob.data

    def sizes(self, oids: Sequence[str]) -> dict[str, int | None]:
        """Return the size in bytes of each object, None for one that the clone lacks."""
        found: dict[str, int | None] = dict.fromkeys(oids)
        run = subprocess.run(
            self._command(["cat-file", "--batch-check"]),
            input="\n".join(oids).encode() + b"\n",
            capture_output=True,
            env=os.environ | self._env(),
            check=False,
        )
        for line in run.stdout.decode("utf-8", "replace").splitlines():
            oid, _, rest = line.partition(" ")
            if rest.rpartition(" ")[2].isdigit():
                found[oid] = int(rest.rpartition(" ")[2])
        return found

    def read_many(self, requests: Iterable[tuple[str, str]], limit: int = MAX_BLOB) -> list[Blob]:
        """Return what stands at each (commit, path), in order, through one `git cat-file`."""
        with self.objects(limit) as reader:
            return [reader.at(commit, path) for commit, path in requests]

    def objects(self, limit: int = MAX_BLOB) -> ObjectReader:
        """Return a reader of many objects; blobs above `limit` bytes are told, not read."""
        return ObjectReader(self._command(["cat-file", "--batch"]), os.environ | self._env(), limit)


def _text(out: bytes | str) -> str:
    return out if isinstance(out, str) else out.decode("utf-8", "replace")


def _last_line(said: bytes) -> str:
    lines = redact(said.decode("utf-8", "replace")).strip().splitlines()
    return lines[-1] if lines else "no message"
