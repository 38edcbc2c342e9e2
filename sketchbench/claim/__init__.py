"""Claims: data in conf/claim, tests here, verdicts from finished tables."""
