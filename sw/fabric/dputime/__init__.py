"""`dputime` of this project: a reference runtime of a DPU, an event loop over a simulated NIC.

The runtime of that name which the literature speaks of is not public. This one says with the least
that is needed what an object for a DPU means: when its program is called, with what, and what
becomes of its verdict.
"""
