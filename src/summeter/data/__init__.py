"""Datasets in and out: rows, formats, presets, folders, people's judgments."""
