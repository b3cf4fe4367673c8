"""The map unit: memories of maps that all engines share, and the operations on them."""
