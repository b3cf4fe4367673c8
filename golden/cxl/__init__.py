"""The CXL switch: what is right."""
