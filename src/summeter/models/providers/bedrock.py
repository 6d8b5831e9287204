"""Call models through Amazon Bedrock's Converse API (`bedrock/MODEL`) with AWS credentials.

A Bedrock API key in AWS_BEARER_TOKEN_BEDROCK needs no further package. All other credentials of AWS's provider chain
(variables, profiles, roles, single sign-on) are found by botocore, which also signs the calls. The calls themselves are
sent like those of other providers, so that timeouts are exact and botocore does not retry calls.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from summeter.models.base import Completion, Request, to_json
from summeter.models.providers import replies
from summeter.models.providers.http import HttpLLM
from summeter.models.providers.openai_compatible import schema_name
from summeter.models.providers.payload import split_system, without_bounds
from summeter.models.providers.provider import Endpoint, Options, Provider, address, secret
from summeter.records import AccessError, InstallError, UsageError

if TYPE_CHECKING:
    from yarl import URL

_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")

_FINISH = {
    "end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "model_context_window_exceeded": "length",
    "guardrail_intervened": "content_filter", "content_filtered": "content_filter",
}  # fmt: skip
# Models that do not support cache points refuse them, so only models known to support them are sent one.
_CACHES = re.compile(r"amazon\.nova|anthropic\.claude(?!-v|-instant|-3-(?:haiku|sonnet|opus|5-sonnet))")


class Bedrock(HttpLLM):
    """A model, an inference profile or a deployment in one region."""

    def __init__(
        self, provider: Provider, model: str, endpoint: Endpoint, options: Options, *, name: str | None = None
    ) -> None:  # fmt: skip
        super().__init__(provider, model, endpoint, options, name=name)
        self._signer = None if endpoint.key else _Signer(_region(options), options.environ)

    @classmethod
    def open(cls, provider: Provider, name: str, options: Options) -> Self:
        """Return the client of a model, an inference profile or an ARN.

        Raises UsageError if no region is set, and InstallError if botocore is needed but not installed.
        """
        (token,) = provider.keys
        key = secret(token, options)
        if key is None and find_spec("botocore") is None:
            raise InstallError.missing(f"botocore, which signs calls to Bedrock (unless {token} is set),", "bedrock")
        default = (provider.address or "").format(region=_region(options))
        base_url = address(provider.address_variable, options, default)
        endpoint = Endpoint(base_url, key, f"{token} or AWS_ACCESS_KEY_ID", provider.address_variable)
        return cls(provider, name, endpoint, options)

    def url(self) -> URL:
        from yarl import URL

        # The colons and slashes of an ARN are part of one path segment.
        return URL(f"{self.endpoint.base_url}/model/{quote(self.name, safe='')}/converse", encoded=True)

    async def sign(self, body: bytes) -> Mapping[str, str] | None:
        """Return the headers with the AWS signature of the body.

        Returns None if a Bedrock API key is set.
        """
        if self._signer is None:
            return None
        # In a thread, since botocore may read files and use the network to renew credentials.
        return await asyncio.to_thread(self._signer.headers, self.id, str(self._url), body)

    def secrets(self) -> tuple[str, ...]:
        return (*super().secrets(), *(self._signer.secrets if self._signer else ()))

    def payload(self, request: Request) -> dict[str, Any]:
        """Return the body of the call.

        The end of the document is marked for models that support prefix caching.
        """
        replies.refuse(request, self.id, "json_object", "logprobs", "seed", "extra_body")
        system, turns = split_system(request.messages)
        marked = _CACHES.search(self.name) is not None
        body: dict[str, Any] = {
            "messages": [
                {
                    "role": turn.role,
                    "content": [
                        {"text": prefix},
                        {"cachePoint": {"type": "default"}},
                        {"text": turn.content[len(prefix) :]},
                    ]
                    if marked and prefix
                    else [{"text": turn.content}],
                }
                for turn, prefix in turns
            ]
        }
        if system:
            body["system"] = [{"text": system}]
        config = {"temperature": request.temperature, "maxTokens": request.max_tokens}
        if sent := {name: value for name, value in config.items() if value is not None}:
            body["inferenceConfig"] = sent
        if request.format == "json_schema":
            form = to_json(without_bounds(request.schema_ or {}))
            schema = {"name": schema_name(request.schema_name), "schema": form}
            body["outputConfig"] = {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}}
        return body

    def completion(self, body: dict[str, Any], answer: replies.Answer) -> Completion:
        message, reason = replies.mapping(body.get("output")).get("message"), replies.string(body.get("stopReason"))
        if not isinstance(message, dict):
            raise replies.without(answer, "a message")
        finish = _FINISH.get(reason or "", reason)
        return Completion(
            text=replies.text(message.get("content")),
            finish_reason=finish,
            refusal=f"stopped by the provider: {reason}" if finish == "content_filter" else None,
            **replies.tokens(
                body.get("usage"),
                # The input tokens do not include those read from or written to the cache.
                tokens_in=("inputTokens", "cacheWriteInputTokens", "cacheReadInputTokens"),
                tokens_out=("outputTokens",),
                tokens_cached=("cacheReadInputTokens",),
                tokens_written=("cacheWriteInputTokens",),
            ),
        )


class _Signer:
    """Signs calls (AWS Signature Version 4) with the credentials of AWS's provider chain."""

    def __init__(self, region: str, environ: Mapping[str, str]) -> None:
        self._region = region
        self._environ = environ
        self._credentials: Any = None
        self._finding = threading.Lock()
        self.secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "_Signer(...)"

    def headers(self, model: str, url: str, body: bytes) -> dict[str, str]:
        """Return the headers with the signature of this body for this URL."""
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        frozen = self._frozen(model)
        self.secrets = tuple(value for value in (frozen.secret_key, frozen.token) if value)
        now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        headers = {"Content-Type": "application/json", "X-Amz-Date": now}
        if frozen.token:
            headers["X-Amz-Security-Token"] = frozen.token
        # The steps are separate, since SigV4Auth.add_auth logs the signed text with the token at debug level.
        call = AWSRequest(method="POST", url=url, data=body, headers=headers)
        call.context["timestamp"] = now
        signer = SigV4Auth(frozen, "bedrock", self._region)
        signature = signer.signature(signer.string_to_sign(call, signer.canonical_request(call)), call)
        names = signer.signed_headers(signer.headers_to_sign(call))
        scheme = f"Credential={signer.scope(call)}, SignedHeaders={names}, Signature={signature}"
        return {**headers, "Authorization": f"AWS4-HMAC-SHA256 {scheme}"}

    def _frozen(self, model: str) -> Any:
        """Return the current credentials, which are renewed if they are about to expire.

        Raises AccessError if there are no credentials or they cannot be loaded.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            with self._finding:
                if self._credentials is None:
                    self._credentials = _credentials(self._environ)
            if self._credentials is not None:
                return self._credentials.get_frozen_credentials()
        except (BotoCoreError, ClientError) as error:
            raise AccessError(
                f"{model}: the AWS credentials cannot be loaded: {replies.shorten(str(error))}"
            ) from error
        raise AccessError(
            f"{model}: no AWS credentials found. Set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID "
            "and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        )


def _credentials(environ: Mapping[str, str]) -> Any:
    """Return the credentials in `environ`, or else those of the provider chain.

    Returns None if there are none.
    """
    from botocore.credentials import Credentials
    from botocore.session import Session

    access, secret_key = environ.get("AWS_ACCESS_KEY_ID"), environ.get("AWS_SECRET_ACCESS_KEY")
    if access and secret_key:
        return Credentials(access, secret_key, environ.get("AWS_SESSION_TOKEN"))
    return Session().get_credentials()


def _region(options: Options) -> str:
    region = next((value for name in _REGIONS if (value := options.environ.get(name, "").strip())), None)
    if region is None and find_spec("botocore"):
        from botocore.exceptions import BotoCoreError
        from botocore.session import Session

        try:
            region = Session().get_config_variable("region")
        except BotoCoreError as error:
            raise UsageError(f"the AWS configuration cannot be read: {error}") from error
    if not region:
        raise UsageError("no AWS region: set the environment variable AWS_REGION (for example us-east-1)")
    return str(region)
