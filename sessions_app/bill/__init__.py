"""What a session cost, and why: sums of its model requests, what results cost that stay in the context. Pure."""
