"""Every knob, in one table; the only reader of the environment.

A setting `data_dir` is the environment variable `MEMSRV_DATA_DIR`. An unknown MEMSRV_* name is refused: a knob that is
misspelt would otherwise do nothing, silently.
"""

import json
import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from memsrv.core.prompt.windows import parsed
from memsrv.core.relay.providers import Provider, provider, providers
from memsrv.errors import SettingsError
from memsrv.model import Mode

PREFIX = "MEMSRV_"
SHORTEST_KEY = 16
ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::[0-9]{1,5})?")
UPSTREAM = "upstream"
"""The name of the provider that MEMSRV_UPSTREAM_URL makes."""
Positive = Annotated[int, Field(ge=1)]


class Settings(BaseSettings):
    """The server's settings; each field's description is its line in the README."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    # where and how to serve
    host: str = Field("127.0.0.1", description="Address to listen on. Other than loopback needs keys, or `MEMSRV_ALLOW_OPEN`.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    data_dir: Path = Field(Path("data/store"), description="Folder of the databases; made if it is missing.")
    keys: Annotated[dict[str, SecretStr], NoDecode] = Field(
        default_factory=dict,
        description="Keys by tenant, `tenant=key,tenant=key`, of at least 16 characters, beside those of `memsrv keys`. "
        "With none at all, all is tenant `default`.",
    )
    database_url: SecretStr = Field(
        SecretStr(""),
        description="PostgreSQL for the transcript, `postgresql://user:password@host/database`; empty means SQLite in the data "
        "folder.",
    )
    allow_open: bool = Field(False, description="Listen beyond loopback without keys. Only behind something that guards it.")
    cors_origins: Annotated[list[str], NoDecode] = Field(
        default_factory=list,
        description="Origins of web pages that may use the server from a browser, `https://app.example,...`; else none may.",
    )
    log_format: Literal["auto", "json", "console"] = Field(
        "auto", description="Log lines: `json`, `console`, or by whether it is a terminal."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is logged.")

    @field_validator("database_url")
    @classmethod
    def check_database(cls, value: SecretStr) -> SecretStr:
        """PostgreSQL or nothing; what is refused is not quoted."""
        scheme, there, _ = value.get_secret_value().partition("://")
        if value.get_secret_value() and not (there and scheme in ("postgresql", "postgres")):
            raise ValueError("write it as postgresql://user:password@host/database")
        return value

    @field_validator("keys", mode="before")
    @classmethod
    def parse_keys(cls, value: object) -> object:
        """`tenant=key,tenant=key` as a mapping; each tenant has one key and each key one tenant."""
        if not isinstance(value, str):
            return value
        pairs = [
            (tenant.strip(), key.strip()) for tenant, _, key in (pair.partition("=") for pair in value.split(",") if pair.strip())
        ]
        if any(not tenant or len(key) < SHORTEST_KEY or not key.isascii() for tenant, key in pairs):
            raise ValueError(f"write it as tenant=key,tenant=key with ASCII keys of at least {SHORTEST_KEY} characters")
        if len({tenant for tenant, _ in pairs}) < len(pairs) or len({key for _, key in pairs}) < len(pairs):
            raise ValueError("each tenant needs one key of its own")
        return dict(pairs)

    @field_validator("cors_origins", mode="before")
    @classmethod
    def parse_origins(cls, value: object) -> object:
        """`origin,origin`, each a scheme, a host and perhaps a port, as browsers send it."""
        given = [part.strip().lower() for part in value.split(",")] if isinstance(value, str) else value
        if not isinstance(given, list):
            return given
        origins = [origin for origin in given if origin]
        if not all(isinstance(origin, str) and ORIGIN.fullmatch(origin) for origin in origins):
            raise ValueError("name each origin as https://host or http://host:port, without a path; '*' is not taken")
        return origins

    # limits
    max_body_bytes: Positive = Field(32_000_000, description="Largest request body (413 above); a key can have its own.")
    rate_per_minute: int = Field(
        0, ge=0, description="Requests that a key may make in a minute (429 above); 0 is no limit; a key can have its own."
    )
    max_messages: Positive = Field(1000, le=1000, description="Most messages in one request.")
    max_waiting_writes: Positive = Field(
        256, description="Writes that may wait before 429 is answered; apart from them, so many requests for summaries."
    )

    # embedder
    embedder: Literal["bundled", "sentence-transformers", "openai"] = Field(
        "bundled", description="Which embedder makes the vectors."
    )
    embedder_model: str = Field("", description="Model name or path for `sentence-transformers` and `openai`.")
    embedder_url: str = Field("", description="Base URL of an OpenAI-compatible endpoint, e.g. `http://127.0.0.1:11434/v1`.")
    embedder_key: SecretStr = Field(SecretStr(""), description="Key for that endpoint.")
    embedder_dimensions: int = Field(0, ge=0, description="Dimensions to ask that endpoint for; 0 leaves it to the model.")
    embedder_query_prefix: str = Field("", description="Put before a query (the model's own prompt is used when empty).")
    embedder_passage_prefix: str = Field("", description="Put before a passage (the model's own prompt is used when empty).")
    embedder_batch: Positive = Field(32, description="Texts in one call of the embedder.")
    embedder_timeout_s: float = Field(30.0, gt=0, description="Longest wait for one answer of the endpoint.")

    # index
    chroma_url: str = Field("", description="URL of a Chroma server (`chroma run`); empty means embedded in the data folder.")
    vector_cache_mb: Positive = Field(256, description="Memory for vectors of recently searched scopes.")
    lexical_cache_mb: Positive = Field(192, description="Memory for word lists of recently searched scopes.")
    exact_search_chunks: int = Field(
        150_000, ge=0, description="Scopes up to this many chunks are searched exactly, larger ones through Chroma's index."
    )

    # prompts
    tokenizer: str = Field("o200k_base", description="Encoding that counts tokens when the model does not tell.")
    budget_tokens: Positive = Field(8192, description="Budget of a prompt when neither request, session nor model tells.")
    model_windows: Annotated[dict[str, int], NoDecode] = Field(
        default_factory=dict,
        description="Context windows in tokens by the beginning of a model's name, a JSON object; before what providers list.",
    )
    mode: Mode = Field(Mode.HYBRID, description="Mode of a session that has none of its own.")
    window_size: int = Field(12, ge=0, description="Messages in the window, at most.")
    window_keep: int = Field(8, ge=0, description="Messages that stay in the window after a compaction.")
    recall_k: Positive = Field(50, le=1000, description="Recalled chunks in a prompt, at most.")
    recall_min_score: float = Field(0.0, ge=-1, le=1, description="Least cosine similarity of a recalled chunk.")
    max_tool_bytes: Positive = Field(
        16_384, description="A tool result longer than this is shortened in the prompt, head and tail kept."
    )
    receipts_kept: Positive = Field(50, description="Receipts kept for each session.")
    retention_days: int = Field(
        0, ge=0, le=36_500, description="Days that messages are kept, counted from when they were stored; 0 is for good."
    )

    @field_validator("model_windows", mode="before")
    @classmethod
    def parse_windows(cls, value: object) -> object:
        """A JSON object of tokens by name."""
        return parsed(value) if isinstance(value, str) else value

    # summaries
    summary_enabled: bool = Field(True, description="Whether what leaves the window is summarised.")
    summary_trigger: str = Field(
        "", description="When: `messages:N` or `tokens:N`, for more than N; empty is more messages than the window holds."
    )
    summary_max_tokens: int = Field(200, ge=16, description="Longest summary.")
    summary_max_input_tokens: int = Field(
        6000, ge=128, description="What one call of the summarizer is given at most; more is folded in part after part."
    )

    providers: SecretStr = Field(
        SecretStr(""),
        description='OpenAI-compatible endpoints by name: `{"name": {"base_url", "api_key", "headers", "model", "timeout_s"}}`; '
        "`${NAME}` in a value is the environment variable of that name.",
    )
    summary_provider: str = Field("", description="Provider whose model writes the summaries; empty is the built-in summarizer.")
    summary_model: str = Field("", description="Model that writes the summaries; empty is the provider's own.")
    summary_parameters: Annotated[dict[str, Any], NoDecode] = Field(
        default_factory=dict, description="Parameters of that model's calls, a JSON object."
    )
    summary_prompt: str = Field("", description="Asks for a first summary; empty is memsrv's own, in the talk's language.")
    summary_update_prompt: str = Field("", description="Asks for a summary that folds in the one before; empty is memsrv's own.")

    @field_validator("summary_parameters", mode="before")
    @classmethod
    def parse_parameters(cls, value: object) -> object:
        """A JSON object."""
        return json.loads(value) if isinstance(value, str) else value

    @field_validator("summary_trigger")
    @classmethod
    def check_trigger(cls, value: str) -> str:
        """`messages:N` or `tokens:N`, N at least 1; or nothing."""
        kind, _, number = value.partition(":")
        if value and not (kind in ("messages", "tokens") and number.isascii() and number.isdigit() and int(number) > 0):
            raise ValueError("write it as messages:N or tokens:N")
        return value

    # proxy
    upstream_url: str = Field(
        "", description="Base URL of the OpenAI-compatible endpoint behind `/v1`, e.g. `http://127.0.0.1:11434/v1`."
    )
    upstream_key: SecretStr = Field(SecretStr(""), description="Key for that endpoint; `${NAME}` is an environment variable.")
    upstream_model: str = Field("", description="Model that is asked where a request names none.")
    upstream_timeout_s: float = Field(
        600.0, gt=0, le=3600, description="Longest silence of that endpoint before it is given up; providers have their own."
    )
    upstream_format: Literal["openai", "strict"] = Field(
        "openai",
        description="Shape of what upstreams are sent; `strict` is for models that take one leading system message only.",
    )

    # for tests
    faults: Annotated[dict[str, str] | None, NoDecode] = Field(
        None, description="For tests only: a JSON object of faults in force; opens `PUT /_faults`."
    )

    @field_validator("faults", mode="before")
    @classmethod
    def parse_faults(cls, value: object) -> object:
        """A JSON object of texts."""
        return json.loads(value) if isinstance(value, str) else value


def load(overrides: Mapping[str, Any] | None = None) -> Settings:
    """Read the settings from `overrides` (the command line), then the environment, then the defaults.

    Raises SettingsError that names the setting that is unknown or has a value that cannot be used.
    """
    refuse_unknown(os.environ)
    try:
        return Settings(**(overrides or {}))
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise SettingsError(f"{variable(name)}: {first['msg'].removeprefix('Value error, ')}.") from None
    except ValueError as error:
        raise SettingsError(str(error)) from None


def refuse_unknown(environ: Mapping[str, str]) -> None:
    """Raise SettingsError for a MEMSRV_* name that is no setting, with the nearest one that is."""
    known = {variable(name) for name in Settings.model_fields}
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in known:
            near = get_close_matches(name, known, n=1)
            raise SettingsError(f"{name} is not a setting of memsrv" + (f"; did you mean {near[0]}?" if near else "."))


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.upper()


def endpoints(settings: Settings) -> dict[str, Provider]:
    """The providers that the settings name, with what their references stand for. Raises SettingsError, also for a summary
    provider that is none of them."""
    known = providers(settings.providers.get_secret_value(), os.environ)
    if settings.upstream_url:
        if UPSTREAM in known:
            raise SettingsError(f"MEMSRV_PROVIDERS has a provider named {UPSTREAM!r}, and so is that of MEMSRV_UPSTREAM_URL.")
        known[UPSTREAM] = upstream(settings)
    if settings.summary_provider and settings.summary_provider not in known:
        raise SettingsError("MEMSRV_SUMMARY_PROVIDER names none of MEMSRV_PROVIDERS.")
    return known


def upstream(settings: Settings) -> Provider:
    """The endpoint of MEMSRV_UPSTREAM_URL as a provider. Raises SettingsError."""
    fields = {
        "base_url": settings.upstream_url,
        "api_key": settings.upstream_key.get_secret_value(),
        "model": settings.upstream_model,
        "timeout_s": settings.upstream_timeout_s,
    }
    try:
        return provider(UPSTREAM, fields, os.environ)
    except SettingsError as error:
        what = error.message.removeprefix(f"MEMSRV_PROVIDERS: provider {UPSTREAM!r} ")
        raise SettingsError(f"The provider of MEMSRV_UPSTREAM_URL and MEMSRV_UPSTREAM_KEY {what}") from None


def default_upstream(known: Mapping[str, Provider]) -> str | None:
    """The provider that the proxy asks where a model's name names none: MEMSRV_UPSTREAM_URL's, else the only one there is."""
    return UPSTREAM if UPSTREAM in known else next(iter(known)) if len(known) == 1 else None


def describe(settings: Settings, overrides: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(variable, value, where it came from) for each setting; secrets are not shown."""
    rows = []
    for name in Settings.model_fields:
        source = "command line" if name in overrides else "environment" if variable(name) in os.environ else "default"
        rows.append((variable(name), shown(getattr(settings, name)), source))
    return rows


def shown(value: Any) -> str:
    """A value for people: secrets as stars."""
    if isinstance(value, SecretStr):
        return "********" if value.get_secret_value() else ""
    if isinstance(value, Mapping):
        return ",".join(f"{key}={item if isinstance(item, int) else '********'}" for key, item in value.items())
    if isinstance(value, list):
        return ",".join(value)
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
