"""PAGES: what all HTML pages are made of: templates and components, numbers as text, figures as SVG, data for scripts.

Reports and the pages of annotation campaigns use it. Nothing here knows what a page is about.
"""
