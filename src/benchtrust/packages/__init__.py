"""One configuration in three evaluation packages, and importers of their logs. In preparation."""
