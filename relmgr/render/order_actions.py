"""The merge order as comments on the pull requests that it concerns."""

from __future__ import annotations

from relmgr.model.actions import UpsertComment
from relmgr.model.order import OrderPlan
from relmgr.render.actions import thread_of, tidy
from relmgr.render.engine import SHIPPED, Words


def order_actions(plan: OrderPlan, words: Words = SHIPPED) -> tuple[UpsertComment, ...]:
    """Return a comment on every pull request that something orders."""
    ordered = [pull for step in plan.order for pull in step]
    pulls = dict.fromkeys((*ordered, *(wait.pull for wait in plan.waits)))
    return tuple(
        UpsertComment(
            thread=thread_of(pull),
            key="order",
            body=tidy(words.render("comment/order.md.j2", d=plan, subject=pull)),
        )
        for pull in pulls
    )
