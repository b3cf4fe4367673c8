"""The CXL switch in RTL."""
