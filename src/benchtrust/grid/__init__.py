"""Recordings: which cells, answered batch by batch, into a store and from it into the committed record."""
