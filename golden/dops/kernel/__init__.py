"""The same machine and schedulers, compiled: equal to the plain ones to the picosecond."""
