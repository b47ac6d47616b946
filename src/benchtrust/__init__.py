"""How far can a safety benchmark's score be trusted?"""

__version__ = "0.1.0"
