"""Attacks on messages: views, which collect what a party of a protocol sees, and attacks that start from them."""
