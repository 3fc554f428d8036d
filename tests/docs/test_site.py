"""The site builds without a warning, all of its links lead somewhere, and it asks nobody for anything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from relmgr.model.documents import DOCUMENTS
from tests.docs.worlds import ROOT
from tests.support.services import need_module

FETCHED = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src")}


class _Links(HTMLParser):
    """Collects what a page links to and loads, and the anchors it has."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            if value and (tag, name) in FETCHED:
                self.loads.append(value)
            if value and (tag, name) in FETCHED | {("a", "href")}:
                self.links.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_module("mkdocs")
    need_module("material")
    out = tmp_path_factory.mktemp("site")
    build = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (build.returncode, build.stdout, build.stderr) == (0, "", "")
    return out


def test_every_link_and_anchor_is_there(site: Path) -> None:
    read: dict[Path, _Links] = {}
    for page in site.rglob("*.html"):
        read[page.resolve()] = links = _Links()
        links.feed(page.read_text(encoding="utf-8"))
    assert len(read) > 20
    broken = []
    for page, links in read.items():
        # The page for what is not there is served from any folder: its addresses start at the site's root.
        root = site if page.name == "404.html" else page.parent
        for link in links.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (root / unquote(parts.path).lstrip("/")).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            anchors = read[target].anchors if target in read else None
            if not target.is_file() or (parts.fragment and anchors and unquote(parts.fragment) not in anchors):
                broken.append(f"{page.relative_to(site)}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        links = _Links()
        links.feed(page.read_text(encoding="utf-8"))
        assert [load for load in links.loads if urlsplit(load).netloc] == [], page
    for sheet in site.rglob("*.css"):
        assert "url(http" not in sheet.read_text(encoding="utf-8"), sheet


def test_nothing_of_the_build_is_in_the_site(site: Path) -> None:
    assert [file for file in site.rglob("*") if file.suffix in (".py", ".pyc")] == []


def test_every_schema_is_in_the_site(site: Path) -> None:
    found = {file.stem: json.loads(file.read_text()) for file in (site / "reference" / "schemas").glob("*.json")}
    assert set(found) == set(DOCUMENTS)
    assert all(schema["title"] == name for name, schema in found.items())
