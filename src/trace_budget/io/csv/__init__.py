"""CSV tables: columns by name, damaged lines mended or counted."""
