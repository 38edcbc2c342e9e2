"""Attacks on what is sent: views, which say what a party sees, and what it can make of them."""
