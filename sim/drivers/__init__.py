"""Drivers and loaders of the testbenches."""
