"""Testbenches, one package a unit."""
