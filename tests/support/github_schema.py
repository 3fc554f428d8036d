"""GitHub's own description of its API as an oracle: is this response one that GitHub could give?

The npm package `@octokit/openapi` carries the OpenAPI 3.0 document; `jsonschema_rs` judges. Both are found or the
checks are off, with the reason; in CI their absence fails the test that says so (`tests/support/test_...`).
"""

from __future__ import annotations

import json
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

_OPENAPI = "@octokit/openapi/generated/api.github.com.json"
_GRAPHQL = "@octokit/graphql-schema/schema.graphql"
# What GitHub answers although its description does not say so: the repository of a fork that was deleted.
_UNDESCRIBED = re.compile(r'null is not of type "object" at \d+/head/repo$')
# Parameters whose value may hold a slash.
_LONG = {"path", "ref", "basehead", "branch"}


def node_modules() -> Path:
    """Return the folder of npm packages: `RELMGR_NODE_MODULES`, else the checkout's own."""
    return Path(os.environ.get("RELMGR_NODE_MODULES") or Path(__file__).parents[2] / "node_modules")


def missing_openapi() -> str | None:
    """Return why responses cannot be checked, None when they can."""
    if not (node_modules() / _OPENAPI).is_file():
        return "npm package @octokit/openapi is not installed (npm install, or set RELMGR_NODE_MODULES)"
    try:
        import jsonschema_rs  # noqa: F401
    except ImportError:
        return "the Python module jsonschema_rs is not installed"
    return None


def graphql_schema_file() -> Path:
    """Return the path of GitHub's GraphQL schema, there or not."""
    return node_modules() / _GRAPHQL


@lru_cache(maxsize=1)
def openapi() -> OpenApi:
    """Return the loaded description."""
    return OpenApi(json.loads((node_modules() / _OPENAPI).read_bytes()))


class OpenApi:
    """Routes and schemas, compiled one by one as they are asked for."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec
        self._components = {"schemas": _plain(spec["components"]["schemas"])}
        self._validators: dict[tuple[str, str, str], Any] = {}
        # Fixed parts win over parameters.
        self._routes = sorted(spec["paths"], key=lambda path: (path.count("{"), -len(path)))
        self._patterns = {path: _pattern(path) for path in self._routes}

    def mistakes(self, verb: str, path: str, status: int, body: Any, sent: Any = None) -> list[str]:
        """Return what GitHub would not have answered, or not accepted as `sent`; empty when all is well."""
        route = next(
            (r for r in self._routes if verb.lower() in self._spec["paths"][r] and self._patterns[r].match(path)), None
        )
        if route is None:
            return [f"GitHub has no {verb} {path}"]
        operation = self._spec["paths"][route][verb.lower()]
        found = []
        if sent is not None:
            schema = _schema_of(self._deref(operation.get("requestBody", {})))
            found += self._judge((verb, route, "request"), schema, sent)
        response = operation["responses"].get(str(status))
        if response is None:
            # Every call can meet these; the document names them at some only.
            general = status in (301, 304, 307, 401, 403, 404, 429) or status >= 500
            return found if general else [*found, f"{verb} {route} does not answer {status}"]
        schema = _schema_of(self._deref(response))
        if schema is None:
            return found if body is None or status >= 400 else [*found, f"{verb} {route} {status} has no body"]
        return found + self._judge((verb, route, str(status)), schema, body)

    def _judge(self, key: tuple[str, str, str], schema: Any, value: Any) -> list[str]:
        import jsonschema_rs

        if schema is None:
            return []
        if key not in self._validators:
            whole = {"allOf": [_plain(schema)], "components": self._components}
            self._validators[key] = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
        found = [
            f"{' '.join(key)}: {error.message[:200]} at {'/'.join(map(str, error.instance_path))}"
            for error in self._validators[key].iter_errors(value)
        ]
        return [mistake for mistake in found if not _UNDESCRIBED.search(mistake)]

    def _deref(self, part: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in part:
            found: Any = self._spec
            for name in part["$ref"][2:].split("/"):
                found = found[name]
            part = found
        return part


def _schema_of(part: dict[str, Any]) -> Any:
    return part.get("content", {}).get("application/json", {}).get("schema")


def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"(\{\w+\})", path)
    return re.compile(
        "".join(
            (".+" if part[1:-1] in _LONG else "[^/]+") if part.startswith("{") else re.escape(part) for part in parts
        )
        + "$"
    )


def _plain(value: Any) -> Any:
    """Return an OpenAPI 3.0 schema as JSON Schema: `nullable` becomes a type of its own."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    plain = {name: _plain(item) for name, item in value.items()}
    if plain.pop("nullable", False) is not True:
        return plain
    if isinstance(plain.get("type"), str):
        plain["type"] = [plain["type"], "null"]
        if "enum" in plain and None not in plain["enum"]:
            plain["enum"] = [*plain["enum"], None]
        return plain
    return {"anyOf": [plain, {"type": "null"}]}
