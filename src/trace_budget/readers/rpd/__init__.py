"""rocmProfileData: SQLite files and their JSON."""
