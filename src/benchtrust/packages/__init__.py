"""One configuration in three evaluation packages: their environments, their runs, importers of their logs."""
