"""Golden model of the Ventaglio unit: results to the bit, and cycles."""
