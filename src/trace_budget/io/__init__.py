"""Rooms that touch the disk: probing, decompression, streaming and safe writing."""
