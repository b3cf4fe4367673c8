"""``fanweave place``, ``fanweave sweep``, and their reports, timelines and pages."""
