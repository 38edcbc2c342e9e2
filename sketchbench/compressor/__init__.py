"""What a client does to its update before it sends it, and what the server makes of what arrives."""
