"""The papers' bounds and our exact moments: one function each, cited by place."""
