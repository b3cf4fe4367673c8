"""The Ventaglio gather-accumulate-scatter unit."""
