"""The exact optimum of small graphs, and how schedulers compare with it."""
