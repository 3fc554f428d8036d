"""What the site's build adds to the pages: the JSON Schema of every document, as a file."""

from __future__ import annotations

import json

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from relmgr.model.documents import DOCUMENTS, document_schema


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add reference/schemas/NAME.json for each document."""
    for name in DOCUMENTS:
        text = json.dumps(document_schema(name), indent=2) + "\n"
        files.append(File.generated(config, f"reference/schemas/{name}.json", content=text))
    return files
