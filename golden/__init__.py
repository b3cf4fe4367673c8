"""What is right: tables, arithmetic and models. Imports numpy and friends only."""
