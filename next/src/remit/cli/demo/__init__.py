"""A first look at Remit, in a world of its own."""
