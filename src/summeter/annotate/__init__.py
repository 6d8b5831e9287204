"""PEOPLE: campaigns in which people judge summaries, and nothing they answer is lost. See design/annotate.md."""
