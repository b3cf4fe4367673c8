"""How long devices take: one module a model, and the tables that schedulers read."""
