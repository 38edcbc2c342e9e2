"""Compressors: how clients encode their updates as messages, and how the server decodes them."""
