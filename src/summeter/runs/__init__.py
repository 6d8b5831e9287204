"""Read and write run folders: the manifest, the journal, the call and result stores, and the views."""
