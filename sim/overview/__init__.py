"""One page of what was measured here, beside what is published elsewhere."""
