"""Two runs set side by side: what moved, what the step gained, and what was predicted of it."""
