"""A process that posts one of everything, for tests that kill it: `python -m tests.support.posting_child URL`."""

from __future__ import annotations

import sys

from relmgr.model.actions import Action, Annotation, SetLabels, UpsertCheck, UpsertComment, UpsertIssue, UpsertPull
from relmgr.model.pull_request import PullRequestRef
from relmgr.sinks.github import GitHubSink
from relmgr.sources.github.auth import Credentials
from relmgr.sources.github.client import GitHub
from relmgr.sources.github.waits import Clock

SLUG = "acme/gadget"
HEAD = "a" * 40
THREAD = PullRequestRef(repository=SLUG, number=7)
TICKET = "<!-- relmgr:ticket acme/gadget,g-1,gfx90a,none -->"


def actions() -> tuple[Action, ...]:
    """Return a comment, a check in two batches, a ticket, a bump that supersedes another, and labels."""
    annotations = tuple(
        Annotation(path="forge.pin", line=n, end_line=n, level="warning", title="pin", message=f"line {n}")
        for n in range(1, 61)
    )
    return (
        UpsertComment(thread=THREAD, key="gate", body="May merge."),
        UpsertCheck(
            repository=SLUG,
            commit=HEAD,
            key="gate/7",
            name="relmgr",
            conclusion="success",
            title="May merge",
            summary="Nothing blocks.",
            annotations=annotations,
        ),
        UpsertIssue(
            repository=SLUG, marker=TICKET, title="Rebuild", body=f"Words.\n\n{TICKET}\n", labels=("kdb", "abi")
        ),
        UpsertPull(
            repository=SLUG,
            head="relmgr/bump-2",
            base="develop",
            family="forge",
            title="Bump",
            body="Words.",
            labels=("pin", "abi"),
        ),
        SetLabels(thread=THREAD, add=("abi",), remove=("stale",)),
    )


def main(url: str) -> int:
    """Post everything; 0 when everything was posted."""
    github = GitHub(Credentials(token="planted-token-0123"), url, clock=Clock(sleep=lambda seconds: None))
    return 0 if GitHubSink(github).apply(actions()).is_whole else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
