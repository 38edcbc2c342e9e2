"""Claims: data in conf/claim, criteria here, verdicts from finished tables."""
