"""Costs of operators from measurements: fits and tables, with their errors on held-out data."""
