"""Privacy: mechanisms, accountants, Algorithm 2, an audit."""
