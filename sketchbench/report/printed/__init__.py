"""The numbers that the papers print, cell by cell, beside the measured ones: from tables and verdicts only."""
