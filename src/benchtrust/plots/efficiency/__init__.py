"""Figures of the part on efficiency, a module a topic."""
