"""Send the scores of a run to Langfuse or Phoenix, where they are attached to the traces of the summarizer.

    from summeter.adapters.traces import to_langfuse
    to_langfuse(summeter.Run("runs/first"), "https://cloud.langfuse.com")

The data of the run must have a column with the id of each summary's trace or span. Sources of the request shapes:
Langfuse's Python SDK 5.0.4 (`POST /api/public/scores`, a list of scores), and arize-phoenix-client 3.5.0
(`POST /v1/span_annotations`).
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from summeter.adapters import reasons_of
from summeter.engine.runs import Run
from summeter.records import Parameter, SummeterError, UsageError, digest
from summeter.scoring.scores import Score

AT_ONCE = 100
TIMEOUT = 60.0
_REFUSED = (301, 302, 303, 307, 308, 401, 403, 404)


class Sent(NamedTuple):
    """The number of scores sent, of missing scores (which are not sent), and of summaries without an id."""

    sent: int
    missing: int
    without_id: int


def to_langfuse(
    run: Run,
    url: str = "https://cloud.langfuse.com",
    *,
    trace: str = "trace_id",
    observation: str = "observation_id",
) -> Sent:
    """Send the scores of a run to Langfuse.

    `trace` is the column with the ids of traces, and `observation` that with ids of observations, if the data have it.
    A score has the name `JUDGE.ASPECT`, and the judge's reasons as its comment. The keys are read from
    LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY. Ids are derived from judge, summary and aspect, so that scores that are
    sent again replace the earlier ones.

    Raises UsageError if a key or the column is missing or if the server refuses the keys, and SummeterError if a score
    is rejected or the server cannot be reached.
    """
    keys = [os.environ.get(name, "") for name in ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")]
    if not all(keys):
        raise UsageError("the keys of Langfuse are missing; set LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY")
    found, missing, without = _found(run, trace, observation)
    scores = [
        {
            "id": digest([score.signature, trace_id, observation_id, score.aspect]),
            "name": f"{score.judge}.{score.aspect}", "value": score.value, "dataType": "NUMERIC", "traceId": trace_id,
            "timestamp": run.manifest.created, "metadata": {"signature": score.signature, "n": score.n},
            **({"observationId": observation_id} if observation_id else {}), **({"comment": reason} if reason else {}),
        }
        for score, trace_id, observation_id, reason in found
    ]  # fmt: skip
    token = base64.b64encode(":".join(keys).encode()).decode()
    for part in _parts(scores):
        answer = _post(f"{url.rstrip('/')}/api/public/scores", part, {"Authorization": f"Basic {token}"})
        if answer.get("errors"):
            raise SummeterError(f"Langfuse rejected {len(answer['errors'])} scores; the first: {answer['errors'][0]}")
    return Sent(len(scores), missing, without)


def to_phoenix(run: Run, url: str = "http://localhost:6006", *, span: str = "span_id") -> Sent:
    """Send the scores of a run to Phoenix, as annotations of spans.

    `span` is the column with the ids of spans. An annotation has the name `JUDGE.ASPECT`, the kind LLM if the judge
    calls a model and CODE if it does not, and the judge's reasons as its explanation. The key is read from
    PHOENIX_API_KEY, if the server needs one. Annotations that are sent again replace the earlier ones.

    Raises the same errors as `to_langfuse`.
    """
    found, missing, without = _found(run, span)
    annotations = [
        {
            "span_id": id_, "name": f"{score.judge}.{score.aspect}", "annotator_kind": "LLM" if score.model else "CODE",
            "result": {"score": score.value, **({"explanation": reason} if reason else {})},
            "metadata": {"signature": score.signature, "n": score.n}, "identifier": digest([score.signature]),
        }
        for score, id_, _, reason in found
    ]  # fmt: skip
    key = os.environ.get("PHOENIX_API_KEY")
    for part in _parts(annotations):
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        _post(f"{url.rstrip('/')}/v1/span_annotations?sync=true", {"data": part}, headers)
    return Sent(len(annotations), missing, without)


def _found(run: Run, *columns: str) -> tuple[list[tuple[Score, str, str | None, str]], int, int]:
    """Return each score with the ids of its summary and its reasons.

    Also returns the number of missing scores, and the number of summaries without an id.
    """
    ids = {(each.document_id, each.system): [each.extra.get(name) for name in columns] for each in run.data.summaries}
    known = {
        place: (str(first), str(rest[0]) if rest and rest[0] else None)
        for place, (first, *rest) in ids.items()
        if first
    }
    if not known:
        raise UsageError(
            Parameter("trace" if len(columns) > 1 else "span", columns[0]),
            " is not a column of the run's data; name the column that contains the ids",
        )
    reasons, scores = reasons_of(run), list(run.scores())
    found = [
        (score, *known[place], reasons.get((*place, score.signature, score.aspect), ""))
        for score in scores
        if score.value is not None and (place := (score.doc_id, score.system)) in known
    ]
    return found, sum(score.value is None for score in scores), len(ids) - len(known)


def _parts(rows: Sequence[Mapping[str, Any]]) -> list[Sequence[Mapping[str, Any]]]:
    return [rows[start : start + AT_ONCE] for start in range(0, len(rows), AT_ONCE)]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an error, because the keys must not be sent to another host."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def _post(url: str, content: object, headers: Mapping[str, str]) -> dict[str, Any]:
    """Send JSON, and return the object of the answer, which is empty if there is none."""
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{url} is not an address; give one that starts with https://")
    body = json.dumps(content, allow_nan=False).encode()
    try:
        request = urllib.request.Request(url, body, {"Content-Type": "application/json", **headers})  # noqa: S310
        with _OPENER.open(request, timeout=TIMEOUT) as answer:
            text = answer.read()
    except urllib.error.HTTPError as error:
        said = error.read(500).decode("utf-8", "replace")
        kind = UsageError if error.code in _REFUSED else SummeterError
        raise kind(f"{url} answered {error.code}: {said or error.reason}") from error
    except OSError as error:
        raise SummeterError(f"{url} cannot be reached: {error}") from error
    except (http.client.HTTPException, ValueError) as error:
        raise UsageError(f"{url} is not an address: {error}") from error
    try:
        found = json.loads(text or b"{}")
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise SummeterError(f"{url} did not answer with a JSON object, so it may have stored nothing")
    return found
