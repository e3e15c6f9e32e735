"""The options of AutoGraph, and whether it is on."""
