"""The log of events, and what it belongs to."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make both tables."""
    op.create_table(
        "events",
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("annotator", sa.Text),
        sa.Column("task", sa.Text),
        sa.Column("batch", sa.Integer),
        sa.Column("token", sa.Text),
        sa.Column("data", sa.Text, nullable=False),
        sa.UniqueConstraint("annotator", "token", name="one_token_a_person"),
    )
    op.create_table(
        "campaign", sa.Column("name", sa.Text, primary_key=True), sa.Column("value", sa.Text, nullable=False)
    )


def downgrade() -> None:
    """Drop both; the answers go with them."""
    op.drop_table("campaign")
    op.drop_table("events")
