"""Compilers of graphs: what programs say to them. Braid runs the nodes one by one."""
