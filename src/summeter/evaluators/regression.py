"""`regression`: aspect ratings from a network trained on human ratings (`summeter train`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from summeter.evaluators.base import Evaluator, Prepared, Role, Semicolons, Tools
from summeter.models.networks import Rate
from summeter.records import Item, Judgment, UsageError, nearest

SPAN_FREE = "span_free"


class Regression(Evaluator):
    """Rate aspects by a trained network, on the scale of the human training ratings (SummQual).

    The role `regressor` is bound to a folder written by `summeter train`. The network judges the aspects on which it
    was trained, or those in `only`. Values are not clipped to the scale; the reason contains the interval that includes
    the human rating with the calibrated probability. If the network has a yes/no output, the evaluator also writes
    `span_free`, the probability that the summary has no inconsistent span, with the label 1 from 0.5.

    A network that reads both texts in one pass truncates long documents; `truncated_tokens` is the number of tokens
    left out. A network that encodes the texts separately (`pool: match`) reads long documents in windows and truncates
    nothing. A network trained on prompts (`input: geval`) reads one text per aspect; if the prompt and the summary
    leave no room for the document, the aspect is not judged (status error).
    """

    name, version = "regression", "1"
    summary = "A network trained on human ratings rates the summary (summeter train)."
    aspects = ("coherence", "consistency", "coverage", "fluency", "overall")
    roles: ClassVar[Mapping[str, Role]] = {"regressor": Role("regressor")}
    reduce = "whole"
    value_range = None
    reads_sentences = False
    positional_setting = "only"

    only: Semicolons[str] = ()

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """The aspects in `only`, or else those of SummQual.

        The folder may contain other aspects.
        """
        return self.only or self.aspects

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return one judgment per aspect."""
        regressor = tools.network("regressor")
        builder = self.builder(item, prepared, tools, model=regressor.id)
        (rated,) = await regressor.ask([Rate(item.document.text, item.summary.text)])
        known = [*rated.truncated_tokens, *([SPAN_FREE] if rated.span_free is not None else [])]
        for aspect in self.only:
            if aspect not in known:
                raise UsageError(
                    f"{regressor.id} was not trained on {aspect!r}{nearest(aspect, known)}; its aspects are "
                    f"{', '.join(known)}"
                )
        judgments = []
        for aspect, cut in rated.truncated_tokens.items():
            if self.only and aspect not in self.only:
                continue
            rating = rated.ratings.get(aspect)
            if rating is None:
                why = (
                    f"the prompt and the summary leave no room for the document in the input of {regressor.id}; train "
                    "a judge with higher max_tokens"
                )
                judgments.append(builder.failed(aspect, "error", why))
                continue
            interval = "no interval: too few ratings or documents for calibration"
            if rating.low is not None and rating.high is not None:
                interval = f"{rating.coverage:.0%} interval {rating.low:.2f} to {rating.high:.2f}"
            reason = f"{rating.value:.2f}; {interval}"
            judgments.append(builder.ok(aspect, value=rating.value, reason=reason, truncated_tokens=cut or None))
        if rated.span_free is not None and (not self.only or SPAN_FREE in self.only):
            likely = f"probability of no inconsistent span: {rated.span_free:.0%}"
            label = int(rated.span_free >= 0.5)
            most_cut = max(rated.truncated_tokens.values()) or None
            judgments.append(
                builder.ok(SPAN_FREE, value=rated.span_free, label=label, reason=likely, truncated_tokens=most_cut)
            )
        return judgments
