"""Which compressor at N bytes: the tables of the frontier's studies joined, shown and asked."""
