"""The closed loop: costs, placements, and when they stop changing each other."""
