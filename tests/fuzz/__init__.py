"""Mutated samples of every format, an independent count of their kernels, and a judge: `python -m tests.fuzz --help`.

An input is made from a seed and a number alone, so a fault is repeated by naming the two.
"""
