"""Tables, JSON and JUnit XML of a run."""
