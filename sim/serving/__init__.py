"""``fanweave calibrate``, ``fanweave serve`` and their reports."""
