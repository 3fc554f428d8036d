"""The GraphQL queries that relmgr sends; tests validate them against GitHub's published schema."""

from __future__ import annotations

# Lists inside a pull request give their first hundred; `list_query` reads on.
PULL = """
fragment pull on PullRequest {
  id number title body state isDraft baseRefName headRefName headRefOid createdAt updatedAt mergedAt mergeable
  lastEditedAt
  editor { __typename login }
  repository { nameWithOwner }
  author { __typename login }
  mergeCommit { oid }
  labels(first: 100) { ...page_l nodes { name } }
  reviews(first: 100) { ...page_r nodes { ...reviewed } }
  files(first: 100) { ...page_f nodes { path changeType } }
  comments(first: 100) { ...page_c nodes { ...said } }
  commits(last: 1) { nodes { commit { ...head } } }
  timelineItems(last: 50, itemTypes: [
    HEAD_REF_FORCE_PUSHED_EVENT, BASE_REF_CHANGED_EVENT, RENAMED_TITLE_EVENT, CONVERT_TO_DRAFT_EVENT,
    READY_FOR_REVIEW_EVENT
  ]) {
    nodes {
      __typename
      ... on HeadRefForcePushedEvent { createdAt actor { __typename login } }
      ... on BaseRefChangedEvent { createdAt actor { __typename login } }
      ... on RenamedTitleEvent { createdAt actor { __typename login } }
      ... on ConvertToDraftEvent { createdAt actor { __typename login } }
      ... on ReadyForReviewEvent { createdAt actor { __typename login } }
    }
  }
}
fragment page_l on LabelConnection { pageInfo { hasNextPage endCursor } }
fragment page_r on PullRequestReviewConnection { pageInfo { hasNextPage endCursor } }
fragment page_f on PullRequestChangedFileConnection { pageInfo { hasNextPage endCursor } }
fragment page_c on IssueCommentConnection { pageInfo { hasNextPage endCursor } }
fragment head on Commit {
  id oid committedDate
  statusCheckRollup { contexts(first: 100) { pageInfo { hasNextPage endCursor } nodes { ...check } } }
}
"""
# Enough of a comment to know whose words stand there now.
SAID = """
fragment said on IssueComment {
  author { __typename login } authorAssociation body createdAt lastEditedAt editor { __typename login } url isMinimized
}
"""
REVIEWED = """
fragment reviewed on PullRequestReview {
  author { __typename login } authorCanPushToRepository state submittedAt commit { oid }
}
"""
CHECK = """
fragment check on StatusCheckRollupContext {
  __typename
  ... on CheckRun { name status conclusion completedAt }
  ... on StatusContext { context state createdAt }
}
"""
OPEN_PULLS = (
    """
query($owner: String!, $name: String!, $size: Int!, $cursor: String) {
  repository(owner: $owner, name: $name) {
    nameWithOwner
    pullRequests(first: $size, after: $cursor, states: [OPEN], orderBy: {field: CREATED_AT, direction: ASC}) {
      pageInfo { hasNextPage endCursor }
      nodes { ...pull }
    }
  }
}
"""
    + PULL
    + REVIEWED
    + SAID
    + CHECK
)


def pulls_query(count: int) -> str:
    """Return the query for `count` single pull requests: variables `o0, n0, p0 ...`, answers `r0 ...`."""
    numbers = range(count)
    variables = ", ".join(f"$o{i}: String!, $n{i}: String!, $p{i}: Int!" for i in numbers)
    fields = "\n".join(
        f"  r{i}: repository(owner: $o{i}, name: $n{i}) {{ nameWithOwner pullRequest(number: $p{i}) {{ ...pull }} }}"
        for i in numbers
    )
    return f"query({variables}) {{\n{fields}\n}}\n{PULL}{REVIEWED}{SAID}{CHECK}"


def compare_query(count: int) -> str:
    """Return the query that compares `count` commits with branches: variables `o0, n0, b0, c0 ...`.

    The schema says of `headRef` only that it is a string; GitHub takes a full commit id there, of the same repository
    (https://github.com/refined-github/refined-github/issues/6094). Where it answers null, REST is asked.
    """
    numbers = range(count)
    variables = ", ".join(f"$o{i}: String!, $n{i}: String!, $b{i}: String!, $c{i}: String!" for i in numbers)
    fields = "\n".join(
        f"  r{i}: repository(owner: $o{i}, name: $n{i}) "
        f"{{ ref(qualifiedName: $b{i}) {{ compare(headRef: $c{i}) {{ status }} }} }}"
        for i in numbers
    )
    return f"query({variables}) {{\n{fields}\n}}\n"


# The rest of a list: what holds it, and one page of it.
REST_OF = {
    "labels": "... on PullRequest { labels(first: 100, after: $c%d) { pageInfo { hasNextPage endCursor } "
    "nodes { name } } }",
    "reviews": "... on PullRequest { reviews(first: 100, after: $c%d) { pageInfo { hasNextPage endCursor } "
    "nodes { ...reviewed } } }",
    "files": "... on PullRequest { files(first: 100, after: $c%d) { pageInfo { hasNextPage endCursor } "
    "nodes { path changeType } } }",
    "comments": "... on PullRequest { comments(first: 100, after: $c%d) { pageInfo { hasNextPage endCursor } "
    "nodes { ...said } } }",
    "contexts": "... on Commit { statusCheckRollup { contexts(first: 100, after: $c%d) "
    "{ pageInfo { hasNextPage endCursor } nodes { ...check } } } }",
}


def list_query(lists: list[str]) -> str:
    """Return the query for one further page of each of `lists`: variables `i0, c0 ...`, answers `r0 ...`."""
    variables = ", ".join(f"$i{n}: ID!, $c{n}: String" for n in range(len(lists)))
    fields = "\n".join(f"  r{n}: node(id: $i{n}) {{ {REST_OF[name] % n} }}" for n, name in enumerate(lists))
    parts = (("reviews", REVIEWED), ("comments", SAID), ("contexts", CHECK))
    fragments = "".join(fragment for name, fragment in parts if name in lists)
    return f"query({variables}) {{\n{fields}\n}}\n{fragments}"
