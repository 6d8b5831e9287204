"""The table writer: one table as text, CSV, Markdown, LaTeX and HTML, each escaped in its own way."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from summeter.tables import (
    Table,
    csv_rows,
    document,
    interval,
    number,
    p_value,
    screen_length,
    with_interval,
    with_missing,
    wrapped,
)  # fmt: skip

AWKWARD = 'R&D_50% {a}|<b> ~^#$ \\ "q"'


def table() -> Table:
    rows: list[list[Any]] = [["aster", 0.9, 0.0004, 18], [AWKWARD, None, None, 0]]
    return Table.of(
        ["system", "value", "p", "n"], rows, align="lr", show=[str, number, p_value], title="Scores", notes=["(a) none"]
    )


def test_numbers_as_papers_print_them() -> None:
    assert [p_value(p) for p in (0.5, 0.001, 0.0009, None)] == ["0.500", "0.001", "<.001", ""]
    assert [number(value) for value in (0.5, None, -0.0001)] == ["0.500", "-", "0.000"]
    assert (interval(0.1, 0.25, 2), interval(None, 1.0)) == ("[0.10, 0.25]", "")
    assert with_interval(0.5, 0.1, 0.9, 1) == "0.5 [0.1, 0.9]"
    assert (with_missing("0.5", 3), with_missing("0.5", 0)) == ("0.5 (3 missing)", "0.5")


def test_text_is_aligned_and_a_dash_stands_for_no_value() -> None:
    lines = Table.of(["name", "x"], [["a", 1.0], ["long name", None]], align="lr", show=[str, number]).text(rule=True)
    assert lines.splitlines() == ["name           x", "---------  -----", "a          1.000", "long name      -"]


def test_equal_columns_become_one_line_if_a_table_is_too_wide() -> None:
    rows = [["rts", "aster", 0.5, 18, 0], ["rts", "birch", 0.25, 18, 0]]
    table = Table.of(["judge", "system", "value", "n", "missing"], rows, align="llr", show=[str, str, number])
    assert table.text(width=36).splitlines()[0] == "judge  system  value   n  missing"
    assert table.text(width=30).splitlines() == [
        "judge = rts, n = 18, missing =", "  0 in all rows", "", "system  value", "aster   0.500", "birch   0.250",
    ]  # fmt: skip


def test_words_are_wrapped_and_numbers_are_not() -> None:
    rows: list[list[Any]] = [["aster", "0.83 [0.75, 0.90]", "no value in some of the draws"], ["birch", "-", None]]
    assert Table.of(["system", "mean", "why"], rows).text(width=40).splitlines() == [
        "system  mean          why",
        "aster   0.83          no value in",
        "        [0.75, 0.90]  some of the",
        "                      draws",
        "birch   -",
    ]


def test_first_columns_become_headings_of_groups() -> None:
    rows = [
        [judge, system, "a-long-statistic", place / 8] for judge in ("rts", "mcq") for place, system in enumerate("abc")
    ]
    table = Table.of(["judge", "system", "statistic", "value"], rows, align="lllr", show=[str, str, str, number])
    assert table.text(width=18).split("\n\n")[1].splitlines() == [
        "judge = rts", "system  value", "a       0.000", "b       0.125", "c       0.250",
    ]  # fmt: skip


def test_columns_that_do_not_fit_follow_in_blocks() -> None:
    table = Table.of(["system", *"abcd"], [["aster", 1, 2, 3, 4], ["birch", 5, 6, 7, 8]])
    blocks = table.text(width=14).split("\n\n")
    assert blocks == ["system  a  b\naster   1  2\nbirch   5  6", "system  c  d\naster   3  4\nbirch   7  8"]


@pytest.mark.parametrize("width", [33, 47, 80])
def test_no_line_is_too_long_and_no_number_is_divided(width: int) -> None:
    values = [f"{place}.{place:03} [0.125, 0.875]" for place in range(12)]
    rows = [["a" * 50, "\u6458\u8981" * 30, "x|" * 40, "some words " * 9, value, value] for value in values]
    text = Table.of(["a name", "wide", "signature", "why", "first", "second"], rows).text(width=width)
    assert max(map(screen_length, text.splitlines())) <= width
    assert all(text.count(value.partition(" ")[0]) >= 2 for value in values)


def test_sentences_are_wrapped_at_spaces_and_bars() -> None:
    assert wrapped("  judged by judge|model:x|v:1", 16).splitlines() == ["  judged by", "    judge|", "    model:x|v:1"]
    assert wrapped("/a/very/long/path/stays", 10) == "/a/very/long/path/stays"


def test_a_document_of_tables_and_sentences() -> None:
    parts: list[Table | str] = [Table.of(["a"], [["1"]], title="First", notes=["a note"]), "one", "two & three"]
    assert document(parts) == "First\na\n1\na note\n\none\ntwo & three\n"
    assert document(parts, "markdown", "Both").startswith(
        "# Both\n\n## First\n\n| a |\n|---|\n| 1 |\n\na note\n\n- one\n"
    )
    assert document(parts, "latex").endswith("\\end{tabular}\n\n% one\n% two & three\n")


def test_rows_of_different_keys_in_csv() -> None:
    text = csv_rows([{"a": "=1", "b": [1, "x"]}, {"c": None, "a": 0.1}])
    assert list(csv.reader(io.StringIO(text))) == [["a", "b", "c"], ["'=1", '[1, "x"]', ""], ["0.1", "", ""]]
    assert csv_rows([]) == ""


def test_a_cell_of_several_lines() -> None:
    two = Table.of(["system", "score"], [["aster", ("0.90", "n=18")], ["birch", ("0.50", "n=9")]])
    assert two.text().splitlines() == ["system  score", "aster   0.90", "        n=18", "birch   0.50", "        n=9"]
    assert "| aster | 0.90 n=18 |" in two.markdown()
    assert "<td>0.90<br>n=18</td>" in two.html()
    assert two.csv().splitlines()[1] == "aster,0.90 n=18"


def test_csv_keeps_numbers_in_full_and_changes_no_cell() -> None:
    rows = list(csv.reader(io.StringIO(table().csv())))
    assert rows == [["system", "value", "p", "n"], ["aster", "0.9", "0.0004", "18"], [AWKWARD, "", "", "0"]]


def test_markdown_cells_cannot_break_out() -> None:
    text = table().markdown()
    assert text.startswith("## Scores\n\n| system | value | p | n |\n|---|---:|---:|---:|\n")
    assert "| aster | 0.900 | <.001 | 18 |".replace("<", "&lt;") in text
    line = text.splitlines()[5]
    assert line.replace("\\|", "").count("|") == 5
    assert "&lt;b&gt;" in line
    assert text.endswith("\n\n(a) none\n")
    assert "| 0.5 [-0.10, 0.90] | \\[x\\](y) |" in Table.of(["a", "b"], [["0.5 [-0.10, 0.90]", "[x](y)"]]).markdown()
    assert "two\nlines" not in Table.of(["a"], [["two\nlines"]]).markdown()


def test_latex_escapes_every_special_character() -> None:
    text = table().latex()
    assert r"\begin{tabular}{lrrr}" in text
    escaped = (
        r"R\&D\_50\% \{a\}\textbar{}\textless{}b\textgreater{} \textasciitilde{}\textasciicircum{}\#\$"
        r" \textbackslash{} \textquotedbl{}q\textquotedbl{}"
    )
    assert rf"{escaped} & - &  & 0 \\" in text
    assert r"\multicolumn{4}{l}{(a) none} \\" in text
    # The end of the line before would take these for its arguments.
    assert r"\midrule" + "\n{}[1] & 2" in Table.of(["a", "b"], [["[1]", 2]]).latex()
    assert "\n{}* & 2" in Table.of(["a", "b"], [["*", 2]]).latex()


def test_html_is_escaped() -> None:
    text = table().html()
    assert "<caption>Scores</caption>" in text
    assert "R&amp;D_50% {a}|&lt;b&gt;" in text
    assert '<td class="figure">0.900</td>' in text


def test_names_cannot_steer_a_terminal() -> None:
    assert "\x1b" not in Table.of(["a"], [["\x1b[2J"]]).text()


def test_rows_have_a_cell_a_column() -> None:
    with pytest.raises(ValueError, match="a row has 1 cells, not 2"):
        Table.of(["a", "b"], [["x"]])


def test_no_cell_of_a_csv_file_runs_as_a_formula() -> None:
    texts = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("x")']
    table = Table.of(["=head"], [[text] for text in texts])
    cells = [row[0] for row in csv.reader(io.StringIO(table.csv(), newline=""))]
    assert cells == [f"'{text}" for text in ("=head", *texts)]


def test_numbers_stay_numbers_in_a_csv_file() -> None:
    cells = [-0.15, "-0.15", "+3", "-1e-9", "-.5", "-12.5%", "-", 0, None, "a=b", "a-b", ("x", "y")]
    written = Table.of(["v"] * len(cells), [cells]).csv().splitlines()[1]
    assert written == "-0.15,-0.15,+3,-1e-9,-.5,-12.5%,-,0,,a=b,a-b,x y"
