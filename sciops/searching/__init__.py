"""Search: networks as search spaces, and the strategies that explore them."""
