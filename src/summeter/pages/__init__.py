"""Building blocks of HTML pages: templates, numbers, figures and embedded data.

They are used by reports and by the pages of annotation campaigns.
"""
