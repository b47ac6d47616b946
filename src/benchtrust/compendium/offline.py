"""Sphinx extension: pages that load nothing from another host.

Jupyter Book always loads sphinx-thebe, whose script reaches for a network; and it puts every script
below ``_static`` on every page, MathJax among them, which Sphinx already loads where there is maths.
"""

from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config


def keep_mathjax_to_pages_with_maths(app: Sphinx, config: Config) -> None:
    """Take MathJax's files out of the scripts for all pages."""
    config.html_js_files = [file for file in config.html_js_files if not str(file).startswith("mathjax/")]


def drop_remote_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Leave out scripts that have a remote address or only serve thebe."""
    context["script_files"] = [script for script in context["script_files"] if not _is_remote(script)]


def _is_remote(script: Any) -> bool:
    address = str(getattr(script, "filename", None) or "")
    body = str(getattr(script, "attributes", {}).get("body", ""))
    return "://" in address or "thebe" in address.casefold() or "THEBE" in body


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the two hooks."""
    app.connect("config-inited", keep_mathjax_to_pages_with_maths)
    app.connect("html-page-context", drop_remote_scripts, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
