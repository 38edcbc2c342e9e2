"""The reports as a static site: pages made of verdicts, tables, figures and their provenance."""
