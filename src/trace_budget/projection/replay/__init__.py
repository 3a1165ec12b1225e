"""A stretch of steps with its dependencies, and how far every op moves when calls get shorter."""
