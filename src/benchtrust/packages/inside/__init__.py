"""Files that run inside the packages' environments, where benchtrust is not installed."""
