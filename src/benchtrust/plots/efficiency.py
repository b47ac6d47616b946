"""Figures of the part on efficiency."""
