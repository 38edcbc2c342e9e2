"""Networks, their losses, and the data that they learn from."""
