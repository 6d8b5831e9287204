"""Building blocks of HTML pages: templates, numbers, figures and embedded data.

Reports and the pages of annotation campaigns use them.
"""
