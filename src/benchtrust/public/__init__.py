"""Public response data of other projects, read from their pinned files into the one table.

A module a file: `FILE`, its name in ``data/sources.toml``, and `load`, which returns responses.
"""
