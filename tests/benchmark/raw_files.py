"""Raw documents for tests, made by hand: a PDF needs no library to be written."""

from __future__ import annotations

from collections.abc import Sequence


def pdf(pages: Sequence[Sequence[str]], *, picture: bool = False) -> bytes:
    """A PDF of pages of lines; with `picture`, each page shows a grey square beside (or instead of) its lines."""
    objects: list[bytes] = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    objects.append(
        b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length 1 >>"
        b"\nstream\n\x80\nendstream"
    )
    kids = []
    for lines in pages:
        shown = " ".join(f"({_escaped(line)}) Tj T*" for line in lines)
        drawing = "q 100 0 0 100 72 72 cm /Im Do Q " if picture else ""
        content = f"{drawing}BT /F 11 Tf 13 TL 72 720 Td {shown} ET".encode("cp1252")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F 3 0 R >> /XObject << /Im 4 0 R >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    written, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    end = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(written))
    return written + head + table + end


def _escaped(line: str) -> str:
    return line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


PAGE = """<!doctype html><html><head><meta charset="utf-8"><title>Rain in Ghent</title></head><body>
<nav><a href="/">Home</a> <a href="/sport">Sport</a> <a href="/login">Sign in</a></nav>
<article><h1>Rain in Ghent</h1>
<p>It rained all day in the valley, and the river rose by two metres before the evening came.</p>
<p>Nobody was hurt, the mayor said on Tuesday, but forty families had to leave their homes.</p></article>
<footer>Copyright 2024 The Paper. All rights reserved. <a href="/privacy">Privacy policy</a></footer></body></html>"""

SUBRIP = """1
00:00:01,000 --> 00:00:02,500
<i>Good evening.</i> [MUSIC]

2
00:00:02,500 --> 00:00:04,000
Good evening. [MUSIC]
It rained all day.

3
00:00:04,000 --> 00:00:05,000
(applause)
"""

WEBVTT = """WEBVTT

NOTE made by hand

00:01.000 --> 00:02.000 align:start
<v Ana>Did it rain?</v>

00:02.000 --> 00:03.000
<v Ben>Yes, all day &amp; night.</v>

00:03.000 --> 00:04.000
<v Ben>In Ghent.</v>
"""
