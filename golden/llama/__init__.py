"""A LLaMA forward pass in numpy."""
