"""Write docs/reference.md and docs/reference/*.md from the code. `--check` fails when one of them is stale.

python docs/generate.py [--check]
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from relmgr import errors
from relmgr.cli import LazyGroup, root
from relmgr.gate.policies import load_rules
from relmgr.model.documents import DOCUMENTS, INPUTS, document_schema
from relmgr.settings import load_project

DOCS = Path(__file__).parent
MADE = "<!-- Made from the code by `python docs/generate.py`; a test keeps it current. -->"
# Options that many commands share: told once.
SHARED = ("--project", "--repo", "--format", "--out", "--quiet")
TYPES = {
    "object": "table",
    "array": "list",
    "integer": "whole number",
    "string": "text",
    "boolean": "true or false",
}
FORMATS = {"date": "day", "date-time": "time", "path": "path"}
MOST_OF_A_DEFAULT = 100
LEVELS = {"block": "holds the merge", "warn": "is shown, and holds nothing", "note": "is shown beside what passed"}


def pages() -> dict[str, str]:
    """Return the generated pages, path below docs/ to text."""
    parts = {
        "reference.md": index(),
        "reference/commands.md": commands_page(),
        "reference/policies.md": policies(),
        "reference/settings.md": settings(),
        "reference/documents.md": documents(),
        "reference/exit-codes.md": exit_codes(),
    }
    return {name: re.sub(r"[ \t]+\n", "\n", "\n\n".join([MADE, *found]) + "\n") for name, found in parts.items()}


def index() -> Iterator[str]:
    """Yield what there is to look up."""
    yield "# Reference"
    yield "\n".join(
        [
            "- [Commands](reference/commands.md): every command with its options",
            "- [Policies](reference/policies.md): every shipped policy, and "
            "[policies in depth](reference/policies-in-depth.md)",
            "- [Settings](reference/settings.md): every key of a project file",
            "- [Documents](reference/documents.md): the JSON that commands print and read",
            "- [Exit codes](reference/exit-codes.md)",
        ]
    )
    yield "All but one of these pages are made from the code, and a test keeps them current."


# -- commands ---------------------------------------------------------------------------------------------------------


def commands_page() -> Iterator[str]:
    """Yield every command, by group, in the order of the help."""
    yield "# Commands"
    yield "`relmgr COMMAND --help` says the same. These options are taken by most commands:"
    yield option_table(shared_options())
    assert isinstance(root, LazyGroup)
    context = click.Context(root, info_name="relmgr")
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield f"## relmgr {name}"
            yield sentences(command)
            yield from commands(command, f"relmgr {name}")
        else:
            yield from one_command(command, f"relmgr {name}", "##")


def commands(group: click.Group, name: str) -> Iterator[str]:
    """Yield a section for each command of a group."""
    context = click.Context(group, info_name=name)
    for child in group.list_commands(context):
        found = group.get_command(context, child)
        assert found is not None
        yield from one_command(found, f"{name} {child}", "###")


def one_command(command: click.Command, name: str, level: str) -> Iterator[str]:
    """Yield the section of one command: how it is called, what it does, its own options."""
    yield f"{level} {name}"
    arguments = [_argument(p) for p in command.params if isinstance(p, click.Argument)]
    yield f"```text\n{' '.join([name, '[OPTIONS]', *arguments])}\n```"
    yield sentences(command)
    own = [p for p in command.params if isinstance(p, click.Option) and p.opts[0] not in SHARED]
    if own:
        yield option_table(own)
    shared = [p.opts[0] for p in command.params if isinstance(p, click.Option) and p.opts[0] in SHARED]
    if shared:
        yield "Also: " + ", ".join(f"`{option}`" for option in shared) + "."


def shared_options() -> list[click.Option]:
    """Return the options of SHARED, as a command has them that takes them all."""
    context = click.Context(root)
    group = root.get_command(context, "pin")
    assert isinstance(group, click.Group)
    show = group.get_command(context, "show")
    assert show is not None
    return [p for p in show.params if isinstance(p, click.Option) and p.opts[0] in SHARED]


def sentences(command: click.Command) -> str:
    """Return a command's help as paragraphs."""
    text = inspect.cleandoc(command.help or command.short_help or "")
    return "\n\n".join(prose(paragraph) for paragraph in text.split("\n\n"))


def option_table(options: list[click.Option]) -> str:
    """Return options as a table."""
    rows = ["| option | meaning |", "| --- | --- |"]
    return "\n".join([*rows, *(f"| {cell(f'`{_option(p)}`')} | {cell(prose(p.help or ''))} |" for p in options)])


def _argument(parameter: click.Argument) -> str:
    name = parameter.metavar or (parameter.name or "").upper()
    return name + ("..." if parameter.nargs == -1 and not name.endswith("...") else "")


def _option(parameter: click.Option) -> str:
    names = ", ".join(sorted(parameter.opts, key=len))
    if parameter.is_flag:
        return names
    choices = "|".join(str(c) for c in parameter.type.choices) if isinstance(parameter.type, click.Choice) else None
    return f"{names} {parameter.metavar or choices or parameter.type.name.upper()}"


# -- policies ---------------------------------------------------------------------------------------------------------


def policies() -> Iterator[str]:
    """Yield a section for each shipped policy."""
    yield "# Policies"
    yield "`relmgr gate explain ID` says the same, as in force in your project. " + (
        "[Policies in depth](policies-in-depth.md) says what fields and outcomes mean, and how to change or add one."
    )
    yield "\n".join(
        ["| level | a verdict that did not pass |", "| --- | --- |", *(f"| {k} | {v} |" for k, v in LEVELS.items())]
    )
    for rule in load_rules(load_project("miopen-rocmlir"), "develop"):
        policy = rule.policy
        yield f"## {policy.id}"
        yield f"**This may merge if {prose(policy.title)}.** Level: {policy.level.value}."
        yield prose(policy.why)
        yield f"Needs: {', '.join(f'`{fact}`' for fact in policy.requires) or 'nothing'}. Check: `{policy.check}`."


# -- settings and documents -------------------------------------------------------------------------------------------


def settings() -> Iterator[str]:
    """Yield a section for each table of a project file."""
    schema = document_schema("project")
    yield "# Settings"
    yield (
        "A project is one TOML file: `relmgr.toml` in the folder where relmgr runs, or what `--project` names. Paths "
        "in it are taken from the file's folder. An unknown key is refused. Two projects are shipped, "
        "`miopen-rocmlir` and `migraphx-rocmlir`; [Add a consumer](../how-to/add-a-consumer.md) shows a small one."
    )
    sections = toml_tables(schema)
    yield f"## The file\n\n{prose(schema.get('description', ''))}"
    yield key_table(schema, schema, sections, tells_required=True)
    for name, header in sections.items():
        definition = schema["$defs"][name]
        yield f"## `{header}` {{ #{_anchor(name)} }}\n\n{prose(definition.get('description', ''))}".rstrip()
        yield key_table(definition, schema, sections, tells_required=True)


def toml_tables(schema: dict[str, Any]) -> dict[str, str]:
    """Return each noun of a project with the header that its table has in the file, what lies within one behind it."""
    headers: dict[str, str] = {}

    def enter(definition: dict[str, Any], path: str) -> None:
        for key, entry in definition.get("properties", {}).items():
            for name, form in _nouns_in(entry, schema):
                if name not in headers:
                    below = f"{path}.{key}".lstrip(".") + (".NAME" if form == "table" else "")
                    headers[name] = f"[[{below}]]" if form == "list" else f"[{below}]"
                    enter(schema["$defs"][name], below)

    enter(schema, "")
    return headers


def _nouns_in(entry: dict[str, Any], schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the nouns that a key holds, and whether it is one, a list or a table of them."""
    if "$ref" in entry:
        name = entry["$ref"].rpartition("/")[2]
        if "properties" in schema["$defs"][name]:
            yield name, "one"
    for one in entry.get("anyOf", ()):
        yield from _nouns_in(one, schema)
    for key, form in (("items", "list"), ("additionalProperties", "table")):
        if isinstance(entry.get(key), dict):
            yield from ((name, form) for name, _ in _nouns_in(entry[key], schema))


def _anchor(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def documents() -> Iterator[str]:
    """Yield a section for each document: who prints or reads it, its keys."""
    yield "# Documents"
    yield (
        "Every command that prints takes `--format json`. The keys are a contract: they are added to, not changed. "
        "`relmgr schema NAME` prints the JSON Schema; the links lead to the same."
    )
    for name in sorted(DOCUMENTS):
        schema = document_schema(name)
        noun, many = _noun(schema)
        what = "is read, or written by people" if name in INPUTS else "is printed"
        of = "A list, each entry with these keys" if many else "Keys"
        yield f"## {name}"
        about = re.sub(r"\bNone\b", "null", prose(noun.get("description", "")))
        yield f"{about}\n\nIt {what}. [JSON Schema](schemas/{name}.json). {of}:".lstrip()
        yield key_table(noun, schema, tells_required=name in INPUTS)


def _noun(schema: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the object that a document is, and whether it is a list of these."""
    many = schema.get("type") == "array"
    noun: dict[str, Any] = schema["items"] if many else schema
    return (resolve(noun, schema), many)


def resolve(definition: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Follow a reference inside a schema."""
    if "$ref" not in definition:
        return definition
    found: dict[str, Any] = schema["$defs"][definition["$ref"].rpartition("/")[2]]
    return found


def key_table(
    definition: dict[str, Any],
    schema: dict[str, Any],
    sections: Mapping[str, str] = MappingProxyType({}),
    *,
    tells_required: bool = False,
) -> str:
    """Return an object's keys as a table: key, type, meaning. Nouns of `sections` (name to header) lead there."""
    rows: list[tuple[str, str, str]] = []
    for key, entry in definition.get("properties", {}).items():
        need = "Required." if tells_required and key in definition.get("required", ()) else ""
        about = prose(entry.get("description", ""))
        about = f"{about[:1].upper()}{about[1:].rstrip('.')}." if about else ""
        value = entry.get("default")
        default = (
            f"Default: `{_shown(value)}`." if value not in (None, "", [], {}) and not isinstance(value, dict) else ""
        )
        meaning = " ".join(part for part in (need, about, default if len(default) < MOST_OF_A_DEFAULT else "") if part)
        rows.append((f"`{key}`", cell(type_of(entry, schema, sections)), cell(meaning)))
    columns = 3 if any(meaning for _, _, meaning in rows) else 2
    lines = [("key", "type", "meaning"), ("---", "---", "---"), *rows]
    return "\n".join(f"| {' | '.join(line[:columns])} |" for line in lines)


def type_of(entry: dict[str, Any], schema: dict[str, Any], sections: Mapping[str, str]) -> str:
    """Return the type of a key in words."""
    if "$ref" in entry:
        name = entry["$ref"].rpartition("/")[2]
        found = schema["$defs"][name]
        if "properties" in found:
            return f"[`{sections[name]}`](#{_anchor(name)})" if name in sections else name
        return type_of(found, schema, sections)
    if "enum" in entry or "const" in entry:
        return ", ".join(f"`{value}`" for value in entry.get("enum", [entry.get("const")]))
    if "anyOf" in entry or "oneOf" in entry:
        kinds = [one for one in entry.get("anyOf") or entry["oneOf"] if one.get("type") != "null"]
        return " or ".join(dict.fromkeys(type_of(one, schema, sections) for one in kinds))
    for key, words in (("items", "list of"), ("additionalProperties", "table of")):
        if isinstance(entry.get(key), dict):
            return f"{words} {type_of(entry[key], schema, sections)}"
    return FORMATS.get(entry.get("format", "")) or TYPES.get(entry.get("type", "")) or entry.get("type", "any")


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# -- exit codes -------------------------------------------------------------------------------------------------------


def exit_codes() -> Iterator[str]:
    """Yield what each exit code means, and what commands add to that."""
    yield "# Exit codes"
    said = inspect.getdoc(errors) or ""
    listed = " ".join(said.partition("exit code:")[2].split()).split(" · ")
    rows = [f"| {code} | {cell(meaning)} |" for code, _, meaning in (one.partition(" ") for one in listed)]
    yield "\n".join(["| code | means |", "| --- | --- |", *rows])
    yield (
        "What could not be told is never counted as passed: a fact that was not read makes a verdict *unknown*, which "
        "blocks with 1; where nothing could be read at all a command ends with 3 and names what."
    )
    yield "These commands say more:"
    yield "\n".join(["| command | says |", "| --- | --- |", *_more_codes(root, "relmgr")])


def _more_codes(group: click.Group, name: str) -> Iterator[str]:
    context = click.Context(group, info_name=name)
    for child in group.list_commands(context):
        command = group.get_command(context, child)
        if isinstance(command, click.Group):
            yield from _more_codes(command, f"{name} {child}")
        elif command is not None:
            found = re.findall(r"[^.;]*(?:[Ee]xit code|[Ee]nds? with \d)[^.]*", prose(command.help or ""))
            if found:
                said = ". ".join(part.strip() for part in found)
                yield f"| `{name} {child}` | {cell(said[:1].upper() + said[1:])} |"


# -- words ------------------------------------------------------------------------------------------------------------


def prose(text: str) -> str:
    """Return text on one line, with what Markdown would read as HTML written out."""
    return " ".join(text.split()).replace("<", "&lt;")


def cell(text: str) -> str:
    """Return text for a table's cell; a bar in code is written so that every reader of Markdown shows it as one."""
    text = re.sub(r"`([^`]*\|[^`]*)`", lambda match: f"<code>{match[1].replace('|', '&#124;')}</code>", text)
    return text.replace("|", "\\|")


def main() -> int:
    """Write the pages, or check them."""
    stale = []
    for name, text in pages().items():
        file = DOCS / name
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            stale.append(name)
        if "--check" not in sys.argv[1:]:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
    if "--check" in sys.argv[1:]:
        print(f"stale: {', '.join(stale)}: run `make docs`" if stale else "the generated pages are current")
        return int(bool(stale))
    return 0


if __name__ == "__main__":
    sys.exit(main())
