"""Functional coverage: which combinations random tests have met, merged over runs."""
