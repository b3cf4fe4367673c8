"""The switch's policies: programs in C, their maps, and the events they are proved on.

`library` builds them, `scenarios` has the events, and `play` runs them on an engine.
"""
