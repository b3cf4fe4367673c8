"""The vector unit: RVV 1.0 (Zve32f with Zvfh) beside the scalar core."""
