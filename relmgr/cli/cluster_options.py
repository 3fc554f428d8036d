"""`--cluster`, and what is said on standard error while jobs run elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from relmgr.model.cluster import Attempt, Job

F = TypeVar("F", bound=Callable[..., Any])


def cluster_option(command: F) -> F:
    """Add `--cluster`."""
    return click.option(
        "--cluster",
        type=click.Choice(["local", "slurm"]),
        help="Cut the work into jobs, here or on Slurm as [cluster] of the project says; --arch then takes A,B.",
    )(command)


class JobProgress:
    """Tells how jobs end, a line each, on standard error: all of them where somebody watches, else what went wrong."""

    def __init__(self, *, quiet: bool, watched: bool) -> None:
        self.quiet, self.watched = quiet, watched
        self.last = ""

    def __call__(self, job: Job, attempt: Attempt) -> None:
        """Tell one ending."""
        if self.quiet or (attempt.outcome == "done" and not self.watched):
            return
        where = f" on {attempt.node}" if attempt.node else ""
        why = f": {attempt.detail}" if attempt.detail else ""
        why, self.last = (", for the same reason" if why and why == self.last else why), why
        click.echo(f"job {job.name}, attempt {attempt.number}: {attempt.outcome}{where}{why}", err=True)
