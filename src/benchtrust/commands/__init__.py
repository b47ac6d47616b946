"""The groups of commands, a module each."""
