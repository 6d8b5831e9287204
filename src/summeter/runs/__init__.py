"""Read and write run folders: manifest, journal, call and result stores, and views."""
