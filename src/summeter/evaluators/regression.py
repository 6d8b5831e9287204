"""`regression`: a judge that was trained on people's ratings (`summeter train`) rates a summary aspect by aspect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from summeter.evaluators.base import Evaluator, Prepared, Role, Semicolons, Tools
from summeter.models.networks import Rate
from summeter.records import Item, Judgment, UsageError, nearest

SPAN_FREE = "span_free"


class Regression(Evaluator):
    """The ratings that a trained judge gives, on the scale of the people it was trained on (SummQual's evaluator).

    Role `regressor`: a folder that `summeter train` wrote. It judges the aspects that the folder was trained on, or
    those of them in `only`. Values are not clipped to the scale; the reason gives the interval in which people's
    rating lies with the probability that the judge was calibrated for. A judge with a yes/no output also writes
    `span_free`: the probability that the summary has no inconsistent span, label 1 from .5 on.

    A judge whose network reads both texts in one pass cuts the end of a long document off; `truncated_tokens` says how
    much. One that encodes them apart (`pool: match`) reads long documents in windows, and cuts nothing. One that was
    trained on prompts (`input: geval`) reads a text for each aspect; where the prompt and the summary leave no room for
    the document, the aspect is not judged (status error).
    """

    name, version = "regression", "1"
    summary = "ratings by a network trained on people's (summeter train)"
    aspects = ("coherence", "consistency", "coverage", "fluency", "overall")
    roles: ClassVar[Mapping[str, Role]] = {"regressor": Role("regressor")}
    reduce = "whole"
    value_range = None
    reads_sentences = False
    positional_setting = "only"

    only: Semicolons[str] = ()

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """The aspects in `only`; by default SummQual's, though the folder may have others."""
        return self.only or self.aspects

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One judgment an aspect."""
        regressor = tools.network("regressor")
        builder = self.builder(item, prepared, tools, model=regressor.id)
        (rated,) = await regressor.ask([Rate(item.document.text, item.summary.text)])
        known = [*rated.truncated_tokens, *([SPAN_FREE] if rated.span_free is not None else [])]
        for aspect in self.only:
            if aspect not in known:
                raise UsageError(
                    f"{regressor.id} was not trained on {aspect!r}{nearest(aspect, known)}; it judges "
                    f"{', '.join(known)}"
                )
        judgments = []
        for aspect, cut in rated.truncated_tokens.items():
            if self.only and aspect not in self.only:
                continue
            rating = rated.ratings.get(aspect)
            if rating is None:
                why = (
                    f"the prompt and the summary leave no room for the document in what {regressor.id} reads; train a "
                    "judge with higher max_tokens"
                )
                judgments.append(builder.failed(aspect, "error", why))
                continue
            interval = "no interval: too few ratings or documents to choose it by"
            if rating.low is not None and rating.high is not None:
                interval = f"{rating.coverage:.0%} of people's ratings lie in {rating.low:.2f} to {rating.high:.2f}"
            reason = f"{rating.value:.2f}; {interval}"
            judgments.append(builder.ok(aspect, value=rating.value, reason=reason, truncated_tokens=cut or None))
        if rated.span_free is not None and (not self.only or SPAN_FREE in self.only):
            likely = f"{rated.span_free:.0%} likely to have no inconsistent span"
            label = int(rated.span_free >= 0.5)
            most_cut = max(rated.truncated_tokens.values()) or None
            judgments.append(
                builder.ok(SPAN_FREE, value=rated.span_free, label=label, reason=likely, truncated_tokens=most_cut)
            )
        return judgments
