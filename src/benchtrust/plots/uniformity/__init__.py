"""Figures of the part on uniformity, a module a topic."""
