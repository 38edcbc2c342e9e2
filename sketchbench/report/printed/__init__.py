"""What the papers print, cell by cell, beside what was measured: from tables and verdicts only."""
