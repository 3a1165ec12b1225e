"""Large or damaged JSON, streamed in bounded memory."""
