"""Figures, drawn from finished tables: a module for each kind, a file of conf/figure for each figure."""
