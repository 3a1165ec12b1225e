"""Which file, which run, which rank: from what a user names to the readers that read it."""
