"""The scalar core of the vector cluster: RV32IMAF, in order, with an interface to vector units."""
