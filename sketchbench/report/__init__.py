"""What is made of records: tables, verdicts, figures, and the seals that vouch for them."""
