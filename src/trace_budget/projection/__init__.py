"""What a replacement does end to end: candidate, match, bounds, evidence, verdict."""
