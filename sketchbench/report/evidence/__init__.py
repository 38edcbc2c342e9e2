"""The evidence behind a verdict, in words, for the terminal and for the site."""
