"""Nsight Systems: SQLite, Parquet and CSV exports."""
