"""Whole systems in golden: a scenario, its settings, and what came of each."""
