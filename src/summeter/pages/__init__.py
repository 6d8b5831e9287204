"""Building blocks of HTML pages: templates, formatted numbers, SVG figures and embedded data.

Reports and the pages of annotation campaigns use them.
"""
