"""The closed loop: places, compiles, measures in RTL, and places again."""
