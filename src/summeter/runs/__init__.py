"""A run's folder: manifest, journal, call and result stores, views."""
